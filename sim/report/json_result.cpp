#include "sim/report/json_result.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/report/measured_rows.h"
#include "sim/report/result_words.h"

namespace orrery::sim {
namespace {

using Out = nlohmann::ordered_json;

// In the order in which the fields are documented.
Out by_group(const std::array<double, schedule::kGroupKinds>& shares) {
  return {{"tp", shares[0]}, {"pp", shares[2]}, {"dp", shares[1]},
          {"cp", shares[3]}, {"ep", shares[4]}, {"other", shares[5]}};
}

Out interval(const Interval& i) { return {{"value", i.value}, {"low", i.low}, {"high", i.high}}; }

Out waterfall(const std::array<double, kShares>& seconds) {
  Out out = Out::object();
  for (std::size_t s = 0; s < kShares; ++s) out[std::string(key_of(static_cast<Share>(s)))] = seconds[s];
  return out;
}

Out breakdown(const StageResult& stage) {
  Out out = Out::object();
  for (std::size_t k = 0; k < schedule::kBufferKinds; ++k) {
    const auto kind = static_cast<schedule::BufferKind>(k);
    if (kind != schedule::BufferKind::token)
      out[std::string(memory_key(kind))] = stage.memory.by_kind[k].count();
  }
  out["fixed"] = fixed_bytes(stage).count();
  return out;
}

Out fixed(const StageResult& stage) {
  Out out = Out::array();
  for (const FixedMemory& line : stage.fixed)
    out.push_back({{"name", line.name}, {"bytes", line.bytes.count()}, {"why", line.why}});
  return out;
}

Out by_phase(const schedule::MemoryPeak& peak) {
  Out out = Out::object();
  for (std::size_t p = 0; p < schedule::kPhases; ++p)
    out[std::string(schedule::name(static_cast<schedule::Phase>(p)))] = peak.peak_of_phase[p].count();
  return out;
}

Out memory(const Result& r) {
  const StageResult& worst = r.stages[r.worst_stage];
  return {{"peak_bytes", worst.memory.peak.count()},
          {"peak_rank", worst.representative},
          {"total_bytes", interval(r.peak_memory_bytes)},
          {"capacity_bytes", r.capacity.count()},
          {"verdict", name(r.device_verdict)},
          {"phase", schedule::name(worst.memory.phase)},
          {"block", worst.memory.block},
          {"breakdown", breakdown(worst)},
          {"fixed_lines", fixed(worst)},
          {"peak_of_phase", by_phase(worst.memory)},
          {"host_bytes", r.host_bytes.count()},
          {"host_capacity_bytes", r.host_capacity.count()},
          {"host_verdict", name(r.host_verdict)}};
}

Out stages(const Result& r) {
  Out out = Out::array();
  for (const StageResult& s : r.stages)
    out.push_back({{"name", s.name},
                   {"representative_rank", s.representative},
                   {"ranks", s.ranks},
                   {"peak_bytes", s.memory.peak.count()},
                   {"total_bytes", s.total.count()},
                   {"phase", schedule::name(s.memory.phase)},
                   {"breakdown", breakdown(s)},
                   {"waterfall", waterfall(s.waterfall_s)}});
  return out;
}

Out confidence(const Result& r) {
  Out parts = Out::array();
  for (const UncertainPart& p : r.parts)
    parts.push_back({{"name", p.name},
                     {"origin", name(p.origin)},
                     {"share", p.share},
                     {"log_low", p.log_low},
                     {"log_high", p.log_high},
                     {"source", p.source}});
  return {{"measured_fraction", r.measured_fraction},
          {"interpolated_fraction", r.interpolated_fraction},
          {"modelled_fraction", r.modelled_fraction},
          {"parts", parts}};
}

Out warnings(const Result& r) {
  Out out = Out::array();
  for (const Diagnostic& d : r.warnings) {
    const char* severity = d.severity == Severity::error  ? "error"
                           : d.severity == Severity::note ? "note"
                                                          : "warning";
    out.push_back(
        {{"severity", severity}, {"message", d.message}, {"try", d.hint}, {"at", place_text(d.place)}});
  }
  return out;
}

Out measured(const scenarios::Scenario& s, const Result& r) {
  Out out = Out::array();
  for (const MeasuredRow& row : measured_rows(s, r))
    out.push_back({{"what", row.what},
                   {"unit", row.unit},
                   {"measured", row.measured},
                   {"predicted", row.predicted},
                   {"error", row.error()}});
  return out;
}

void add_flops(const Result& r, Out& out) {
  out["model_flops"] = r.model_flops;
  out["hardware_flops"] = r.hardware_flops;
  out["dense_peak_flops_per_s"] = r.dense_peak;
  out["model_tflops_per_gpu"] = r.model_tflops_per_gpu;
  out["hardware_tflops_per_gpu"] = r.hardware_tflops_per_gpu;
  out["mfu"] = r.mfu;
  out["hfu"] = r.hfu;
}

Out document(const scenarios::Scenario& s, const Result& r, bool runtime) {
  Out out;
  out["schema_version"] = kResultSchemaVersion;
  out["scenario"] = r.scenario;
  out["fits"] = r.verdict != Verdict::does_not_fit;
  out["verdict"] = name(r.verdict);
  out["gpus"] = s.parallel.world();
  out["step_time_s"] = interval(r.step_time_s);
  out["samples_per_s"] = r.samples_per_s;
  out["tokens_per_s"] = r.tokens_per_s;
  out["tokens_per_s_per_gpu"] = r.tokens_per_s_per_gpu;
  add_flops(r, out);
  out["comm"] = {{"total_fraction", r.communication_total},
                 {"exposed_fraction", r.communication_exposed},
                 {"by_group", by_group(r.communication_by_group)},
                 {"exposed_by_group", by_group(r.exposed_by_group)}};
  out["bubble_fraction"] = r.bubble_fraction;
  out["gpu_busy_fraction"] = r.gpu_busy;
  out["compute_slowed_fraction"] = r.compute_slowed;
  out["waterfall"] = waterfall(r.waterfall_s);
  out["memory"] = memory(r);
  out["per_stage"] = stages(r);
  out["confidence"] = confidence(r);
  out["measured"] = measured(s, r);
  out["to_tokens"] = nullptr;
  if (r.steps_to_tokens > 0.0)
    out["to_tokens"] = {{"tokens", s.training.tokens},
                        {"steps", r.steps_to_tokens},
                        {"hours", r.hours_to_tokens},
                        {"gpu_hours", r.gpu_hours_to_tokens}};
  out["warnings"] = warnings(r);
  out["simulated"] = {{"microbatches", r.microbatches_simulated}, {"exact", r.exact}};
  out["fingerprint"] = fmt::format("{:016x}", r.fingerprint);
  if (runtime)
    out["runtime"] = {{"events", r.events}, {"wall_s", r.wall_s}, {"peak_rss_bytes", r.peak_rss_bytes}};
  return out;
}

// A name from a file may hold bytes that are no UTF-8; they become U+FFFD, as every JSON reader needs.
std::string text_of(const Out& out) { return out.dump(2, ' ', false, Out::error_handler_t::replace) + "\n"; }

}  // namespace

std::string json_result(const scenarios::Scenario& scenario, const Result& result, bool runtime) {
  return text_of(document(scenario, result, runtime));
}

std::string json_results(std::span<const Compared> results, bool runtime) {
  Out out;
  out["schema_version"] = kResultSchemaVersion;
  out["results"] = Out::array();
  for (const Compared& c : results) out["results"].push_back(document(*c.scenario, *c.result, runtime));
  return text_of(out);
}

}  // namespace orrery::sim
