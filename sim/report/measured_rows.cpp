#include "sim/report/measured_rows.h"

#include "sim/metrics/device_word.h"
#include "sim/report/text_layout.h"

namespace orrery::sim {

std::vector<MeasuredRow> measured_rows(const scenarios::Scenario& scenario, const Result& r) {
  std::vector<MeasuredRow> rows;
  if (!scenario.measured) return rows;
  const scenarios::Measured& m = *scenario.measured;
  const std::string device = device_word(scenario);
  const auto add = [&](const std::string& what, const char* unit, const std::optional<double>& measured,
                       double predicted) {
    if (measured && *measured > 0.0) rows.push_back({what, unit, *measured, predicted});
  };
  const StageResult& worst = r.stages[r.worst_stage];
  add("step time", "s", m.step_time_s, r.step_time_s.value);
  add("samples/s", "1/s", m.samples_per_s, r.samples_per_s);
  add("tokens/s a " + device, "1/s", m.tokens_per_s_per_gpu, r.tokens_per_s_per_gpu);
  add("TFLOP/s a " + device, "TFLOP/s", m.tflops_per_gpu, r.model_tflops_per_gpu);
  if (scenario.training.recompute != scenarios::Recompute::none)
    add("TFLOP/s a " + device + ", with recomputation", "TFLOP/s", m.tflops_per_gpu, r.hardware_tflops_per_gpu);
  add("peak memory, live bytes", "B", m.peak_memory_bytes, static_cast<double>(worst.memory.peak.count()));
  add("peak memory, with context", "B", m.peak_memory_bytes, r.peak_memory_bytes.value);
  add("communication, all", "fraction", m.comm_fraction, r.communication_total);
  add("communication, not hidden", "fraction", m.comm_fraction, r.communication_exposed);
  return rows;
}

std::string quantity_text(double value, const std::string& unit) {
  if (unit == "s") return seconds_text(value);
  if (unit == "B") return bytes_text(value);
  return unit == "fraction" ? percent_text(value) : number_text(value);
}

}  // namespace orrery::sim
