#include "runtime/calibrate/kernel_phase.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/check.h"
#include "runtime/calibrate/journal_lines.h"

namespace orrery::runtime {
namespace {

constexpr std::int64_t kLeastVisits = 2;
constexpr std::size_t kMostWritten = 40;  // timings of a kernel that one visit keeps
// Of a visit, also of timings that were not kept.
constexpr const char *kTimings = "timings", *kLostCore = "timings.lost_core";

// Of more timings than are kept, every so many are left out, evenly.
void thin(std::vector<double>& seconds, std::size_t most) {
  if (seconds.size() <= most) return;
  std::vector<double> kept;
  for (std::size_t i = 0; i < most; ++i) kept.push_back(seconds[i * seconds.size() / most]);
  seconds = std::move(kept);
}

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

KernelPhase::KernelPhase(const std::vector<Workload>& workloads, Journal& journal)
    : workloads_(workloads), journal_(journal) {
  for (const Workload& workload : workloads_) {
    Standing standing;
    const schedule::Schedule& s = *workload.schedule;
    for (const schedule::Program& program : s.programs) {
      standing.kernel_of_op.push_back(catalog_.add(s, program));
      const std::vector<std::uint32_t>& kernels = standing.kernel_of_op.back();
      standing.calls.resize(catalog_.all().size(), 0);
      schedule::for_each_call(program, ~0U, [&](const schedule::Call& call, std::uint32_t, std::uint32_t) {
        const schedule::Block& block = program.block(call);
        for (std::uint32_t op = block.first_op; op < block.first_op + block.op_count; ++op)
          if (kernels[op] != kNoKernel) ++standing.calls[kernels[op]];
      });
    }
    standing_.push_back(std::move(standing));
  }
  for (const Journal::Block& block : journal_.earlier()) take_over(block);
}

void KernelPhase::take_over(const std::vector<std::string>& block) {
  for (const std::string& line : block) {
    if (is_line(line, "visit")) {
      const auto found = std::find_if(workloads_.begin(), workloads_.end(),
                                      [&](const Workload& w) { return w.name == rest_of_line(line); });
      if (found != workloads_.end()) ++standing_[static_cast<std::size_t>(found - workloads_.begin())].visits;
    }
    if (is_line(line, "number")) {
      const NumberLine read = read_number_line(line);
      if (read.name == kTimings) timings_ += read.value;
      if (read.name == kLostCore) lost_core_ += read.value;
    }
    if (!is_line(line, "kernel")) continue;
    const KernelLine read = read_kernel_line(line);
    TimedKernel& kernel = catalog_[catalog_.add(read.key)];
    const std::size_t count = read.timings.seconds.size();
    for (std::size_t i = 0; i < count; ++i)
      (read.busy ? kernel.busy : kernel.alone)
          .add(read.timings.seconds[i], i + static_cast<std::size_t>(read.timings.disturbed) >= count);
  }
}

void KernelPhase::visit(std::size_t workload, StepMeasurer& measurer, const VisitLength& length,
                        const std::atomic<bool>& stop) {
  struct Measured {
    std::vector<double> good, disturbed;
  };
  std::map<std::pair<std::uint32_t, bool>, Measured> measured;  // by kernel and whether busy
  for (const KernelTiming& t : measurer.visit(workloads_[workload], length)) {
    Measured& m = measured[{standing_[workload].kernel_of_op[t.program][t.op], t.busy}];
    (t.disturbed ? m.disturbed : m.good).push_back(t.seconds);
  }
  Journal::Block block;
  double timings = 0.0, lost_core = 0.0;
  for (auto& [which, m] : measured) {
    timings += static_cast<double>(m.good.size() + m.disturbed.size());
    lost_core += static_cast<double>(m.disturbed.size());
    thin(m.good, kMostWritten);
    thin(m.disturbed, kMostWritten);
    KernelLine line{
        catalog_[which.first].key, which.second, {m.good, static_cast<std::int64_t>(m.disturbed.size())}};
    line.timings.seconds.insert(line.timings.seconds.end(), m.disturbed.begin(), m.disturbed.end());
    block.push_back(write_line(line));
  }
  block.push_back(write_line(NumberLine{kTimings, timings}));
  block.push_back(write_line(NumberLine{kLostCore, lost_core}));
  if (!stop.load()) block.push_back("visit " + workloads_[workload].name);  // else it was cut short
  journal_.append(block);
  take_over(block);
}

double KernelPhase::uncertainty(std::size_t workload) const {
  double whole = 0.0, uncertain = 0.0;
  const std::vector<std::uint32_t>& calls = standing_[workload].calls;
  for (std::uint32_t kernel = 0; kernel < calls.size(); ++kernel) {
    const TimedKernel& timed = catalog_.all()[kernel];
    if (calls[kernel] == 0) continue;
    if (timed.busy.empty()) return 1.0;
    const SampleSummary s = timed.busy.summary();
    whole += calls[kernel] * s.seconds;
    uncertain += calls[kernel] * s.seconds * s.uncertainty;
  }
  return whole > 0.0 ? uncertain / whole : 1.0;
}

bool KernelPhase::is_measured(std::size_t workload) const {
  const std::vector<std::uint32_t>& calls = standing_[workload].calls;
  for (std::uint32_t kernel = 0; kernel < calls.size(); ++kernel) {
    const TimedKernel& timed = catalog_.all()[kernel];
    if (calls[kernel] > 0 && timed.busy.empty() && timed.alone.empty()) return false;
  }
  return true;
}

double KernelPhase::lost_core_share() const { return timings_ > 0.0 ? lost_core_ / timings_ : 0.0; }

bool KernelPhase::settled(std::size_t workload, double limit) const {
  return standing_[workload].visits >= kLeastVisits && uncertainty(workload) < limit;
}

std::size_t KernelPhase::visited() const {
  return static_cast<std::size_t>(
      std::count_if(standing_.begin(), standing_.end(), [](const Standing& s) { return s.visits > 0; }));
}

std::int64_t KernelPhase::visits() const {
  std::int64_t sum = 0;
  for (const Standing& s : standing_) sum += s.visits;
  return sum;
}

void KernelPhase::run(StepMeasurer& measurer, const PhaseLimits& limits, const SecondsNow& clock,
                      const std::atomic<bool>& stop, Progress& progress) {
  const double begin = clock();
  for (std::int64_t pass = 0; pass < limits.most_passes; ++pass)
    for (std::size_t w = 0; w < workloads_.size(); ++w) {
      const double used = (clock() - begin) / limits.budget_s;
      if (stop.load() || used >= 1.0) return;
      if (standing_[w].visits > pass || settled(w, limits.settled)) continue;
      progress.show("kernels", used, fmt::format("pass {}: {}", pass + 1, workloads_[w].name));
      visit(w, measurer, limits.visit, stop);
    }
}

}  // namespace orrery::runtime
