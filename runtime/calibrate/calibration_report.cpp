#include "runtime/calibrate/calibration_report.h"

#include <fmt/format.h>

#include "base/quantities.h"

namespace orrery::runtime {
namespace {

std::size_t points_of(const Calibration& c) {
  std::size_t points = 0;
  for (const hardware::MeasuredKernel& kernel : c.kernels.kernels) points += kernel.points.size();
  return points;
}

std::string how_kernels_were_timed(const Visits& v, std::int64_t busy_ranks) {
  std::string text = fmt::format(
      "kernels: in whole steps without messages, {} rank{} at once and one alone; {} steps of {} visited, {} "
      "visits",
      busy_ranks, busy_ranks == 1 ? "" : "s", v.visited, v.workloads, v.visits);
  if (v.uncertainty >= 1.0) return text + "; medians not known";
  return text + fmt::format("; medians known to {:.1f} % of a step", 100.0 * v.uncertainty);
}

std::string beside_transfers(const MachineNumbers& n) {
  return fmt::format(
      "kernels beside an all_reduce of their ranks: a product of 256^3 takes {:.2f} times as long, "
      "an addition of 2 MiB {:.2f} times",
      n.product_beside, n.addition_beside);
}

}  // namespace

void add_notes(const Grid& grid, const Visits& visits, const hardware::Provenance& from, Calibration& c) {
  c.kernels.provenance = c.transfers.provenance = from;
  std::vector<std::string>& of_kernels = c.kernels.provenance.notes;
  of_kernels = grid.notes;
  of_kernels.push_back(how_kernels_were_timed(visits, c.busy_ranks));
  for (std::string& note : notes_of(visits.coverage)) of_kernels.push_back(std::move(note));
  for (std::string& note : notes_of(kernel_findings(c.kernels.kernels)))
    of_kernels.push_back(std::move(note));
  std::vector<std::string>& of_transfers = c.transfers.provenance.notes;
  of_transfers.push_back("messages: fp32, sums; written by each rank just before; by the executor's lanes");
  if (c.busy_ranks > 1) of_transfers.push_back(beside_transfers(c.numbers));
  for (std::string& note : notes_of(curve_findings(c.transfers.curves)))
    of_transfers.push_back(std::move(note));
}

std::string calibration_report(const Calibration& c, const Visits& visits, const std::string& directory) {
  const Ceilings& most = c.numbers.ceilings;
  std::string text = fmt::format("machine       {}\n", words(c.machine));
  text += fmt::format("ranks         {} on {} cores\n", c.ranks, c.machine.usable_cores());
  text += fmt::format("products      {} fp32, {} bf16 a rank\n", human_flop_rate(FlopRate(most.fp32_flops)),
                      human_flop_rate(FlopRate(most.bf16_flops)));
  text += fmt::format("copies        {} alone, {} each of {} at once (read and written)\n",
                      human_bandwidth(Bandwidth(most.copy_alone)),
                      human_bandwidth(Bandwidth(most.copy_together)), c.busy_ranks);
  text += fmt::format("an op costs   {} beyond its kernel\n", human_duration(c.kernels.op_overhead));
  if (c.busy_ranks > 1) {
    text += fmt::format("contention    products {:.2f}, others {:.2f} with {} ranks at once\n",
                        c.kernels.contention.compute_bound, c.kernels.contention.memory_bound, c.busy_ranks);
    text += beside_transfers(c.numbers) + "\n";
  }
  text += fmt::format("\n{} sizes of {} kernels; {}\n", points_of(c), c.kernels.kernels.size(),
                      how_kernels_were_timed(visits, c.busy_ranks));
  text += kernel_lines(kernel_findings(c.kernels.kernels));
  const std::vector<CurveFinding> curves = curve_findings(c.transfers.curves);
  if (!curves.empty()) text += "\nmessages\n" + curve_lines(curves);
  text += "\n";
  for (const std::string& note : c.kernels.provenance.notes) text += "note: " + note + "\n";
  for (const std::string& note : c.transfers.provenance.notes) text += "note: " + note + "\n";
  return text + fmt::format("\nwritten: {0}/{1}.json, {0}/{1}.gpu.json, {0}/{1}.kernels.json{2}\n", directory,
                            c.name,
                            c.ranks > 1 ? fmt::format(", {}/{}.transfers.json", directory, c.name) : "");
}

}  // namespace orrery::runtime
