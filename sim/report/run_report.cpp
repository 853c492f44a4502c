#include "sim/report/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantities.h"
#include "scenarios/words.h"
#include "sim/metrics/device_word.h"
#include "sim/report/measured_rows.h"
#include "sim/report/plan_lines.h"
#include "sim/report/result_words.h"
#include "sim/report/text_layout.h"

namespace orrery::sim {
namespace {

constexpr std::size_t kBarWidth = 40;
constexpr double kWorthALine = 0.0005;  // of the step or of the memory

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return result;
}

std::string header(const scenarios::Scenario& s) {
  std::string text = s.name + "\n";
  for (const auto& [what, line] : plan_lines(s)) text += wrapped(line, fmt::format("  {:<9}", what));
  return text;
}

std::string verdict_line(const Result& r) {
  const StageResult& stage = r.stages[r.worst_stage];
  const auto capacity = static_cast<double>(r.capacity.count()),
             used = static_cast<double>(stage.total.count());
  std::string line =
      fmt::format("rank {} ({}) uses {} of {} ({:.1f} %), {} {}", stage.representative, stage.name,
                  human_bytes(stage.total), human_bytes(r.capacity), 100.0 * used / capacity,
                  bytes_text(std::abs(capacity - used)), used > capacity ? "too much" : "free");
  if (r.host_verdict != Verdict::fits)
    line += fmt::format("; a node's host memory: {} of {}", human_bytes(r.host_bytes),
                        human_bytes(r.host_capacity));
  return "\n" + wrapped(line, upper(name(r.verdict)) + ": ");
}

std::string speed(const scenarios::Scenario& s, const Result& r) {
  const std::string device = device_word(s);
  std::string text = "\nSpeed\n";
  const auto line = [&](const char* what, const std::string& value, const std::string& note) {
    std::string row = fmt::format("  {:<22}{:>12}", what, value) + (note.empty() ? "" : "   " + note);
    text += row + "\n";
  };
  line("step time", seconds_text(r.step_time_s.value),
       fmt::format("80 % interval {} .. {}", seconds_text(r.step_time_s.low),
                   seconds_text(r.step_time_s.high)));
  line("samples/s", number_text(r.samples_per_s), "");
  line("tokens/s", human_count(r.tokens_per_s), fmt::format("{} a {}", number_text(r.tokens_per_s_per_gpu), device));
  line(("TFLOP/s a " + device).c_str(), number_text(r.model_tflops_per_gpu),
       fmt::format("model FLOPs, {} attention", s.training.attention_flops_causal ? "causal" : "full"));
  line("MFU", percent_text(r.mfu),
       fmt::format("of {} dense {}", human_flop_rate(FlopRate(r.dense_peak)),
                   scenarios::word(s.training.precision)));
  line("HFU", percent_text(r.hfu),
       r.hardware_flops > r.model_flops * 1.0001
           ? fmt::format("with recomputation: {} TFLOP/s a {}", number_text(r.hardware_tflops_per_gpu), device)
           : "nothing is recomputed");
  if (r.steps_to_tokens > 0.0)
    line(fmt::format("to {} tokens", human_count(static_cast<double>(s.training.tokens))).c_str(),
         seconds_text(r.hours_to_tokens * 3600.0),
         fmt::format("{} steps, {} {}-hours", number_text(r.steps_to_tokens),
                     human_count(r.gpu_hours_to_tokens), device));
  return text;
}

std::string waterfall(const scenarios::Scenario& s, const Result& r) {
  const double step = r.step_time_s.value;
  std::string text = "\nWhere the step goes (average over ranks)\n";
  for (std::size_t i = 0; i < kShares && step > 0.0; ++i) {
    const double share = r.waterfall_s[i] / step;
    if (share < kWorthALine) continue;
    text += fmt::format("  {:<31}{:>10}{:>9}  {}\n", words_for(static_cast<Share>(i)),
                        seconds_text(r.waterfall_s[i]), percent_text(share), bar(share, kBarWidth));
  }
  std::string groups;
  for (std::size_t g = 0; g < kGroupWords.size(); ++g)
    if (r.communication_by_group[g] >= kWorthALine)
      groups += fmt::format("{}{} {}", groups.empty() ? "" : ", ", kGroupWords[g],
                            percent_text(r.communication_by_group[g]));
  if (!groups.empty())
    text += wrapped(fmt::format("{} of the step ({} not hidden): {}", percent_text(r.communication_total),
                                percent_text(r.communication_exposed), groups),
                    "  transfers are active ");
  if (r.compute_slowed >= kWorthALine)
    text += fmt::format("  {}: {} of the step\n",
                        s.cluster.node.cores > 0 ? "kernels share cores and memory" : "transfers take SMs from kernels",
                        percent_text(r.compute_slowed));
  return text;
}

// "rank 0" or "the worst rank" need not be said twice: the verdict names it.
std::string memory(const scenarios::Scenario& s, const Result& r) {
  const StageResult& stage = r.stages[r.worst_stage];
  const auto capacity = static_cast<double>(r.capacity.count());
  std::string text = fmt::format("\nMemory of rank {} at its peak ({}, {})\n", stage.representative,
                                 schedule::name(stage.memory.phase),
                                 stage.memory.block.empty() ? "between steps" : stage.memory.block);
  const auto line = [&](std::string_view what, Bytes bytes, const std::string& note) {
    const double share = static_cast<double>(bytes.count()) / capacity;
    if (bytes == Bytes()) return;
    const std::string tail = note.empty() ? bar(share, kBarWidth) : note;
    text +=
        fmt::format("  {:<31}{:>10}{:>9}  {}", what, human_bytes(bytes), percent_text(share), tail) + "\n";
  };
  for (std::size_t k = 0; k < schedule::kBufferKinds; ++k)
    line(memory_key(static_cast<schedule::BufferKind>(k)), stage.memory.by_kind[k], "");
  for (const FixedMemory& fixed : stage.fixed) line(fixed.name, fixed.bytes, "");
  line("total", stage.total,
       fmt::format("80 % interval {} .. {}", bytes_text(r.peak_memory_bytes.low),
                   bytes_text(r.peak_memory_bytes.high)));
  line(device_word(s) == "GPU" ? "GPU" : "what a rank may use", r.capacity, "");
  if (r.host_bytes > Bytes())
    text += fmt::format("  {:<31}{:>10}  of {} on a node\n", "host memory", human_bytes(r.host_bytes),
                        human_bytes(r.host_capacity));
  return text;
}

std::string memory_details(const Result& r) {
  const schedule::MemoryPeak& peak = r.stages[r.worst_stage].memory;
  std::string phases;
  for (std::size_t p = 0; p < schedule::kPhases; ++p)
    if (peak.peak_of_phase[p] > Bytes())
      phases +=
          fmt::format("{}{} {}", phases.empty() ? "" : ", ", schedule::name(static_cast<schedule::Phase>(p)),
                      human_bytes(peak.peak_of_phase[p]));
  std::string largest;
  for (std::size_t i = 0; i < peak.items.size() && i < 6; ++i)
    largest +=
        fmt::format("{}{} {}", i == 0 ? "" : ", ", peak.items[i].buffer, human_bytes(peak.items[i].bytes));
  return wrapped(phases, "  peak by phase    ") + wrapped(largest, "  largest buffers  ");
}

// First, last and worst stage, and every one where there are few.
std::string stages(const Result& r) {
  if (r.stages.size() < 2) return {};
  std::vector<std::vector<std::string>> rows{
      {"stage", "rank", "memory", "compute", "transfers", "bubble", "other"}};
  const double step = r.step_time_s.value;
  for (std::size_t i = 0; i < r.stages.size(); ++i) {
    if (r.stages.size() > 8 && i != 0 && i + 1 != r.stages.size() && i != r.worst_stage &&
        i != r.stages.size() / 2)
      continue;
    const StageResult& s = r.stages[i];
    const auto of = [&](Share share) {
      return step > 0.0 ? s.waterfall_s[static_cast<std::size_t>(share)] / step : 0.0;
    };
    double transfers = 0.0;
    for (std::size_t g = 0; g < schedule::kGroupKinds; ++g)
      transfers += of(static_cast<Share>(static_cast<std::size_t>(Share::exposed_tensor) + g));
    const double other = of(Share::copy) + of(Share::host) + of(Share::wait);
    rows.push_back({s.name, fmt::format("{}", s.representative), human_bytes(s.total),
                    percent_text(of(Share::compute)), percent_text(transfers),
                    percent_text(of(Share::bubble)), percent_text(other)});
  }
  return "\nStages\n" + table_text(rows);
}

std::string measured(const scenarios::Scenario& s, const Result& r) {
  const std::vector<MeasuredRow> rows = measured_rows(s, r);
  if (rows.empty()) return {};
  std::vector<std::vector<std::string>> cells{{"", "measured", "predicted", "error"}};
  for (const MeasuredRow& row : rows) {
    cells.push_back({row.what, quantity_text(row.measured, row.unit), quantity_text(row.predicted, row.unit),
                     fmt::format("{:+.1f} %", 100.0 * row.error())});
  }
  std::string text = "\nAgainst measurement\n" + table_text(cells);
  if (!s.measured->source.empty()) text += wrapped(s.measured->source, "  source: ");
  return text;
}

std::string confidence(const Result& r) {
  std::string text = "\nWhat this rests on\n";
  text += wrapped(
      fmt::format(
          "{} of the time on measured kernels, {} interpolated between measurements, {} from fitted models; "
          "--explain lists each part with its error",
          percent_text(r.measured_fraction), percent_text(r.interpolated_fraction),
          percent_text(r.modelled_fraction)),
      "  ");
  return text;
}

}  // namespace

std::string warnings_text(const std::vector<Diagnostic>& warnings) {
  if (warnings.empty()) return {};
  std::string text = "\nWarnings\n";
  for (const Diagnostic& d : warnings) {
    text += wrapped(d.message, d.severity == Severity::error ? "  !! " : "  !  ");
    if (!d.hint.empty()) text += wrapped(d.hint, "     try: ");
    if (const std::string at = place_text(d.place); !at.empty()) text += "     at " + at + "\n";
  }
  return text;
}

std::string run_report(const scenarios::Scenario& s, const Result& r) {
  return header(s) + verdict_line(r) + speed(s, r) + waterfall(s, r) + memory(s, r) + memory_details(r) +
         stages(r) + measured(s, r) + warnings_text(r.warnings) + confidence(r);
}

}  // namespace orrery::sim
