// GPipe (Huang et al. 2019): every stage runs all forwards, then all backwards, newest microbatch last.
// Bubble (p - 1) / (m + p - 1); every microbatch's activations are kept.
#include "schedule/compile/pipeline_order.h"

namespace orrery::schedule {

std::vector<Action> gpipe_order(const PipelineShape& shape, std::int64_t) {
  std::vector<Action> order;
  order.reserve(static_cast<std::size_t>(2 * shape.microbatches));
  for (const bool backward : {false, true})
    for (std::int64_t i = 0; i < shape.microbatches; ++i)
      order.push_back({.backward = backward, .chunk = 0, .microbatch = static_cast<std::uint32_t>(i)});
  return order;
}

}  // namespace orrery::schedule
