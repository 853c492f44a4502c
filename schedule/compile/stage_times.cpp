// Forward f = products g + attention square a; the input's gradient g + 2 a (and all of f again where it is recomputed),
// the weights' gradients g. Norms and the like are in proportion.
#include "schedule/compile/stage_times.h"

namespace orrery::schedule {
namespace {

double recomputed_layers(const scenarios::Scenario& scenario, std::int64_t stage) {
  const scenarios::Training& t = scenario.training;
  if (t.recompute != scenarios::Recompute::full) return 0.0;
  const auto at = static_cast<std::size_t>(stage);
  return static_cast<double>(t.recompute_layers.empty() ? scenario.parallel.layers_of_stage[at] : t.recompute_layers[at]);
}

}  // namespace

std::vector<StageTimes> stage_times(const scenarios::Scenario& scenario, const Placement& placement) {
  const models::FlopsOfSequence all = models::forward_flops_by_part(
      scenario.model, scenario.training.sequence_length, scenario.vocab_rows());
  const auto layers = static_cast<double>(scenario.model.layers);
  const double square = all.attention_square / layers, products = (all.projections + all.mlp) / layers;
  const double unit = 1e-4 * (square + products);  // so a layer's forward is 10,000
  std::vector<StageTimes> times(static_cast<std::size_t>(placement.ranks));
  for (std::int64_t r = 0; r < placement.ranks; ++r)
    for (std::uint32_t c = 0; c < static_cast<std::uint32_t>(placement.chunks); ++c) {
      const auto n = static_cast<double>(
          scenario.parallel.layers_of_stage[static_cast<std::size_t>(placement.stage(r, c))]);
      const double head = placement.is_last(r, c) ? all.head : 0.0;
      const double forward = n * (square + products) + head;
      const double again = recomputed_layers(scenario, placement.stage(r, c)) * (square + products);
      StageTimes& t = times[static_cast<std::size_t>(r)];
      t.forward += static_cast<std::int64_t>(forward / unit);
      t.input += static_cast<std::int64_t>((n * (2.0 * square + products) + head + again) / unit);
      t.weight += static_cast<std::int64_t>((n * products + head) / unit);
    }
  return times;
}

}  // namespace orrery::schedule
