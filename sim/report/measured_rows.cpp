#include "sim/report/measured_rows.h"

namespace orrery::sim {

std::vector<MeasuredRow> measured_rows(const scenarios::Scenario& scenario, const Result& r) {
  std::vector<MeasuredRow> rows;
  if (!scenario.measured) return rows;
  const scenarios::Measured& m = *scenario.measured;
  const auto add = [&](const char* what, const char* unit, const std::optional<double>& measured, double predicted,
                       double scale = 1.0) {
    if (measured && *measured > 0.0) rows.push_back({what, unit, *measured * scale, predicted * scale});
  };
  const StageResult& worst = r.stages[r.worst_stage];
  add("step time", "s", m.step_time_s, r.step_time_s.value);
  add("samples/s", "", m.samples_per_s, r.samples_per_s);
  add("tokens/s a GPU", "", m.tokens_per_s_per_gpu, r.tokens_per_s_per_gpu);
  add("TFLOP/s a GPU", "", m.tflops_per_gpu, r.model_tflops_per_gpu);
  if (scenario.training.recompute != scenarios::Recompute::none)
    add("TFLOP/s a GPU, with recomputation", "", m.tflops_per_gpu, r.hardware_tflops_per_gpu);
  add("peak memory, live bytes", "GB", m.peak_memory_bytes, static_cast<double>(worst.memory.peak.count()), 1e-9);
  add("peak memory, with context", "GB", m.peak_memory_bytes, r.peak_memory_bytes.value, 1e-9);
  add("communication, all", "%", m.comm_fraction, r.communication_total, 100.0);
  add("communication, not hidden", "%", m.comm_fraction, r.communication_exposed, 100.0);
  return rows;
}

}  // namespace orrery::sim
