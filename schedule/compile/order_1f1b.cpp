// 1F1B, or PipeDream-flush (Narayanan et al. 2021, section 2.2): stage s of p runs min(m, p - s - 1)
// forwards, then a forward and a backward in turn, then the backwards that are left. Bubble as GPipe's; at
// most p - s microbatches' activations are kept.
#include <algorithm>

#include "schedule/compile/pipeline_order.h"

namespace orrery::schedule {

Order one_f_one_b_order(const PipelineShape& shape, std::int64_t stage) {
  const std::int64_t m = shape.microbatches, warm_up = std::min(m, shape.stages - stage - 1);
  Order order;
  order.reserve(static_cast<std::size_t>(2 * m));
  const auto append = [&](ActionKind kind, std::int64_t i) {
    order.push_back({.kind = kind, .chunk = 0, .microbatch = static_cast<std::uint32_t>(i)});
  };
  for (std::int64_t i = 0; i < warm_up; ++i) append(ActionKind::forward, i);
  for (std::int64_t i = warm_up; i < m; ++i) {
    append(ActionKind::forward, i);
    append(ActionKind::backward, i - warm_up);
  }
  for (std::int64_t i = m - warm_up; i < m; ++i) append(ActionKind::backward, i);
  return order;
}

}  // namespace orrery::schedule
