// The products are one block, called once a microbatch, in the order of the backwards: one Repeat.
#include "schedule/compile/deferred_head.h"

#include <algorithm>

namespace orrery::schedule {

std::int64_t deferred_microbatches(const Stage& s) {
  if (!s.has_head || s.scenario.parallel.pp == 1) return 0;
  return std::min(s.scenario.overlap.deferred_microbatches, s.schedule.microbatches);
}

bool defers(const Stage& s, const Action& action) {
  return action.kind == ActionKind::backward && s.is_last(action.chunk) && action.microbatch < s.deferred;
}

void append_deferred(Stage& s, BlockId weight_gradients) {
  const auto count = static_cast<std::uint32_t>(s.deferred);
  const auto first = static_cast<std::uint32_t>(s.program.calls.size());
  s.program.calls.push_back({weight_gradients, s.head_unit, 0, count > 1 ? 1U : 0U});
  if (count > 1) s.program.repeats.push_back({first, 1, count});
}

}  // namespace orrery::schedule
