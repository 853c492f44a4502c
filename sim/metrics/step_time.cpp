#include "sim/metrics/step_time.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace orrery::sim {
namespace {

void add_waterfall(const ClassResult& c, double weight, std::array<double, kShares>& sum) {
  for (std::size_t s = 0; s < kShares; ++s) sum[s] += weight * c.waterfall[s].seconds();
}

}  // namespace

void fill_time_shares(const schedule::Schedule& schedule, const SimulationResult& simulation,
                      Result& result) {
  const double step = simulation.step_time.seconds();
  std::int64_t ranks = 0;
  for (const ClassResult& c : simulation.classes) {
    ranks += c.ranks;
    const double of_world = static_cast<double>(c.ranks) / static_cast<double>(schedule.world);
    add_waterfall(c, of_world, result.waterfall_s);
    StageResult& stage =
        result.stages[static_cast<std::size_t>(schedule.program_group.index(c.representative))];
    add_waterfall(c, static_cast<double>(c.ranks) / static_cast<double>(stage.ranks), stage.waterfall_s);
    if (step <= 0.0) continue;
    const Duration compute = c.waterfall[static_cast<std::size_t>(Share::compute)];
    result.compute_slowed += of_world * std::max(0.0, (compute - c.compute_alone).seconds()) / step;
    result.communication_total += of_world * c.communication_any.seconds() / step;
    for (std::size_t g = 0; g < schedule::kGroupKinds; ++g)
      result.communication_by_group[g] += of_world * c.communication[g].seconds() / step;
  }
  CHECK(ranks == schedule.world, ranks, schedule.world);
  if (step <= 0.0) return;
  for (std::size_t g = 0; g < schedule::kGroupKinds; ++g) {
    const std::size_t share = static_cast<std::size_t>(Share::exposed_tensor) + g;
    result.exposed_by_group[g] = result.waterfall_s[share] / step;
    result.communication_exposed += result.exposed_by_group[g];
  }
  result.bubble_fraction = result.waterfall_s[static_cast<std::size_t>(Share::bubble)] / step;
  result.gpu_busy = result.waterfall_s[static_cast<std::size_t>(Share::compute)] / step;
}

void fill_rates(const scenarios::Scenario& scenario, Result& result) {
  const scenarios::Training& t = scenario.training;
  const auto gpus = static_cast<double>(scenario.parallel.world());
  const double step = result.step_time_s.value;
  result.tokens_per_step = static_cast<double>(t.global_batch) * static_cast<double>(t.sequence_length);
  result.dense_peak = scenario.cluster.gpu.peak(t.precision).value();
  if (step <= 0.0) return;
  result.samples_per_s = static_cast<double>(t.global_batch) / step;
  result.tokens_per_s = result.tokens_per_step / step;
  result.tokens_per_s_per_gpu = result.tokens_per_s / gpus;
  result.model_tflops_per_gpu = result.model_flops / step / gpus * 1e-12;
  result.hardware_tflops_per_gpu = result.hardware_flops / step / gpus * 1e-12;
  result.mfu = result.model_tflops_per_gpu * 1e12 / result.dense_peak;
  result.hfu = result.hardware_tflops_per_gpu * 1e12 / result.dense_peak;
  if (t.tokens == 0) return;
  result.steps_to_tokens = std::ceil(static_cast<double>(t.tokens) / result.tokens_per_step);
  result.hours_to_tokens = result.steps_to_tokens * step / 3600.0;
  result.gpu_hours_to_tokens = result.hours_to_tokens * gpus;
}

}  // namespace orrery::sim
