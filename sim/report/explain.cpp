#include "sim/report/explain.h"

#include <fmt/format.h>

#include <cmath>

#include "base/quantities.h"
#include "scenarios/words.h"
#include "sim/metrics/device_word.h"
#include "sim/report/result_words.h"
#include "sim/report/text_layout.h"

namespace orrery::sim {
namespace {

class Explanation {
 public:
  void number(const std::string& what, const std::string& value) {
    text_ += fmt::format("\n{} = {}\n", what, value);
  }
  void formula(const std::string& line) { text_ += wrapped(line, "  formula  "); }
  void inputs(const std::string& line) { text_ += wrapped(line, "  inputs   "); }
  void source(const std::string& line) { text_ += wrapped(line, "  source   "); }
  void plain(const std::string& lines) { text_ += lines; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void explain_step(const Result& r, Explanation& e) {
  e.number("step time", seconds_text(r.step_time_s.value));
  e.formula("simulated, steady state: from the first op of a step to the first op of the next");
  e.inputs(fmt::format("{} events of the compiled schedule, fingerprint {:016x}", r.events, r.fingerprint));
  e.source(
      "kernels: docs/models/kernels.md; transfers: docs/models/network.md; rules: docs/models/engine.md");
  e.number("80 % interval", seconds_text(r.step_time_s.low) + " .. " + seconds_text(r.step_time_s.high));
  e.formula("value x exp(-+ sqrt(sum over parts of (share x log error)^2))");
  std::vector<std::vector<std::string>> rows{{"part", "share of step", "error low", "error high", "origin"}};
  for (const UncertainPart& p : r.parts)
    rows.push_back({p.name, percent_text(p.share), fmt::format("{:+.1f} %", 100.0 * std::expm1(p.log_low)),
                    fmt::format("{:+.1f} %", 100.0 * std::expm1(p.log_high)), std::string(name(p.origin))});
  e.plain(table_text(rows));
  for (const UncertainPart& p : r.parts) e.plain(wrapped(p.name + ": " + p.source, "  source   "));
}

void explain_table(const hardware::Provenance& from, const std::string& what, Explanation& e) {
  e.inputs(what);
  e.source(hardware::words(from));
  for (const std::string& note : from.notes) e.plain(wrapped(note, "  note     "));
}

// The measured tables behind the times, with what was noticed when they were made.
void explain_tables(const hardware::Cluster& cluster, Explanation& e) {
  if (cluster.gpu.kernel_table == nullptr && cluster.transfers == nullptr) return;
  e.number("measured tables", cluster.name);
  e.formula("docs/models/measured-tables.md");
  if (const hardware::KernelTable* table = cluster.gpu.kernel_table.get(); table != nullptr) {
    std::size_t points = 0;
    std::int64_t samples = 0, outliers = 0;
    for (const hardware::MeasuredKernel& kernel : table->kernels)
      for (const hardware::KernelPoint& point : kernel.points)
        ++points, samples += point.samples, outliers += point.outliers;
    explain_table(table->provenance,
                  fmt::format("kernel table: {} kernels, {} sizes, {} samples ({} left out as disturbed); {} an op "
                              "besides",
                              table->kernels.size(), points, samples, outliers, human_duration(table->op_overhead)),
                  e);
  }
  if (const hardware::TransferTable* table = cluster.transfers.get(); table != nullptr) {
    std::size_t points = 0;
    for (const hardware::TransferCurve& curve : table->curves) points += curve.points.size();
    explain_table(table->provenance, fmt::format("transfer table: {} curves, {} points", table->curves.size(), points),
                  e);
  }
}

void explain_rates(const scenarios::Scenario& s, const Result& r, Explanation& e) {
  const auto gpus = static_cast<double>(s.parallel.world());
  const std::string step = seconds_text(r.step_time_s.value), device = device_word(s);
  e.number("samples/s", number_text(r.samples_per_s));
  e.formula("global batch / step time");
  e.inputs(fmt::format("{} sequences / {}", s.training.global_batch, step));
  e.number("tokens/s",
           fmt::format("{} ({} a {})", human_count(r.tokens_per_s), number_text(r.tokens_per_s_per_gpu), device));
  e.formula("global batch x sequence length / step time");
  e.inputs(fmt::format("{} x {} / {}", s.training.global_batch, s.training.sequence_length, step));
  e.number(fmt::format("TFLOP/s a {}", device), number_text(r.model_tflops_per_gpu));
  e.formula(
      fmt::format("model FLOPs / step time / {}s; model FLOPs: matrix products and attention of a forward and two "
                  "backward-equivalents, no recomputation",
                  device));
  e.inputs(fmt::format("{:.4g} FLOPs ({} attention square) / {} / {}", r.model_flops,
                       s.training.attention_flops_causal ? "half of the" : "the full", step, gpus));
  e.source("counted over the schedule's ops; Narayanan et al. 2021 (arXiv 2104.04473), section 5.1");
  e.number("MFU", percent_text(r.mfu));
  e.formula(fmt::format("TFLOP/s a {} / dense peak", device));
  e.inputs(fmt::format("{} / {} TFLOP/s, {} dense ({})", number_text(r.model_tflops_per_gpu),
                       number_text(r.dense_peak * 1e-12), scenarios::word(s.training.precision),
                       s.cluster.gpu.name));
  e.source(s.cluster.gpu.source);
  e.number("HFU", percent_text(r.hfu));
  e.formula(fmt::format("(model FLOPs + recomputed FLOPs) / step time / {}s / dense peak", device));
  e.inputs(fmt::format("{:.4g} + {:.4g} FLOPs", r.model_flops, r.hardware_flops - r.model_flops));
}

void explain_time(const Result& r, Explanation& e) {
  const double step = r.step_time_s.value;
  e.number("waterfall", fmt::format("{} in all", seconds_text(step)));
  e.formula(
      "each instant of a rank goes to the first that applies: compute; transfers by group; host copies; the "
      "host's "
      "issuing; bubble (waiting for a pipeline neighbour); other waits. Averaged over ranks it sums to the "
      "step");
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < kShares && step > 0.0; ++i)
    rows.push_back({std::string(words_for(static_cast<Share>(i))), seconds_text(r.waterfall_s[i]),
                    percent_text(r.waterfall_s[i] / step)});
  e.plain(table_text(rows));
  e.number("communication", fmt::format("{} total, {} exposed", percent_text(r.communication_total),
                                        percent_text(r.communication_exposed)));
  e.formula(
      "total: union of the intervals in which a transfer is active on the rank / step time, averaged over "
      "ranks; a "
      "transfer begins when all its sides are ready. Exposed: the part in which no compute runs there");
  std::string groups;
  for (std::size_t g = 0; g < kGroupWords.size(); ++g)
    groups += fmt::format("{}{} {} ({} exposed)", g == 0 ? "" : ", ", kGroupWords[g],
                          percent_text(r.communication_by_group[g]), percent_text(r.exposed_by_group[g]));
  e.inputs(groups);
  e.number("bubble", percent_text(r.bubble_fraction));
  e.formula("the waterfall's bubble / step time");
}

void explain_memory(const scenarios::Scenario& s, const Result& r, Explanation& e) {
  const StageResult& stage = r.stages[r.worst_stage];
  e.number("peak memory",
           fmt::format("{} on rank {} ({})", human_bytes(stage.total), stage.representative, stage.name));
  e.formula(
      "highest live bytes in host issue order, each allocation rounded up to 512 B, plus what lies outside "
      "the allocator");
  std::vector<std::vector<std::string>> rows;
  for (std::size_t k = 0; k < schedule::kBufferKinds; ++k)
    if (stage.memory.by_kind[k] > Bytes())
      rows.push_back({std::string(memory_key(static_cast<schedule::BufferKind>(k))),
                      human_bytes(stage.memory.by_kind[k])});
  for (const schedule::MemoryPeak::Item& item : stage.memory.items)
    if (rows.size() < 24) rows.push_back({"  " + item.buffer, human_bytes(item.bytes)});
  e.plain(table_text(rows));
  for (const FixedMemory& line : stage.fixed)
    e.inputs(fmt::format("{} {}: {}", line.name, human_bytes(line.bytes), line.why));
  e.inputs(fmt::format("{}, {} B/parameter before sharding", scenarios::word(s.framework),
                       s.recipe.weight_bytes + s.recipe.gradient_bytes + (s.recipe.master_weights ? 4 : 0) +
                           s.recipe.optimizer_state_bytes));
  e.source("docs/models/memory.md; recipes: docs/reference/frameworks.md");
  e.number("verdict", std::string(name(r.verdict)));
  e.formula(fmt::format("fits; risky above 95 % of the {}'s memory; does not fit above 100 %", device_word(s)));
  e.inputs(fmt::format("{} of {}; host {} of {}", human_bytes(stage.total), human_bytes(r.capacity),
                       human_bytes(r.host_bytes), human_bytes(r.host_capacity)));
}

void explain_tokens(const scenarios::Scenario& s, const Result& r, Explanation& e) {
  if (r.steps_to_tokens <= 0.0) return;
  e.number(fmt::format("to {} tokens", human_count(static_cast<double>(s.training.tokens))),
           fmt::format("{} steps, {} hours, {} {}-hours", number_text(r.steps_to_tokens),
                       number_text(r.hours_to_tokens), human_count(r.gpu_hours_to_tokens), device_word(s)));
  e.formula(
      "steps = tokens / (global batch x sequence length), rounded up; hours = steps x step time; without "
      "failures, "
      "checkpoints and evaluation");
}

}  // namespace

std::string explain(const scenarios::Scenario& s, const Result& r) {
  Explanation e;
  e.plain(fmt::format("How each number of \"{}\" came about\n", r.scenario));
  explain_step(r, e);
  explain_tables(s.cluster, e);
  explain_rates(s, r, e);
  explain_time(r, e);
  explain_memory(s, r, e);
  explain_tokens(s, r, e);
  return e.take();
}

}  // namespace orrery::sim
