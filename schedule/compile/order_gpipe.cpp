// GPipe (Huang et al. 2019): every stage runs all forwards, then all backwards, newest microbatch last.
// Bubble (p - 1) / (m + p - 1); every microbatch's activations are kept.
#include "schedule/compile/pipeline_order.h"

namespace orrery::schedule {

Order gpipe_order(const PipelineShape& shape, std::int64_t) {
  Order order;
  order.reserve(static_cast<std::size_t>(2 * shape.microbatches));
  for (const ActionKind kind : {ActionKind::forward, ActionKind::backward})
    for (std::int64_t i = 0; i < shape.microbatches; ++i)
      order.push_back({.kind = kind, .chunk = 0, .microbatch = static_cast<std::uint32_t>(i)});
  return order;
}

}  // namespace orrery::schedule
