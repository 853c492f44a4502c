// Zero-bubble schedules by hand (Qi et al. 2023, arXiv 2401.10241, section 2). A backward is B, the gradient of the
// input, which the rank before waits for, and W, the weight gradients, for which nobody waits and which fill what
// would be a bubble. With F, B and W the times of a rank's microbatch, on rank r of p:
//
//   H1  p - r - 1 forwards, r pairs F B, then F B W in turn, then B W for the backwards left, then the r weights left.
//       Bubble (p - 1)(F + B - W); p microbatches in flight at most, as on the first rank of 1F1B.
//   H2  2 (p - r) - 1 forwards, r pairs B F, then B W F in turn, then r pairs B F, then B W for the backwards left,
//       then the 2 r weights left. No bubble where F = B = W and nothing joins the ranks at the end of a step (they
//       start and end r F apart); 2 p - 1 in flight at most. The last r pairs let the last rank's backwards come as fast
//       as the first rank, which has no forwards left to fill with, can take them.
//
// Fewer microbatches than that cut each of the counts short.
#include "schedule/compile/action_list.h"

namespace orrery::schedule {
namespace {

void finish(ActionList& a) {
  while (!a.complete()) {
    a.input();
    a.weight();
  }
}

}  // namespace

Order zero_bubble_h1_order(const PipelineShape& shape, std::int64_t rank) {
  const std::int64_t m = shape.microbatches;
  ActionList a(m);
  for (std::int64_t i = 0; i < shape.stages - rank - 1; ++i) a.forward();
  for (std::int64_t i = 0; a.forwards() < m; ++i) {
    a.forward();
    a.input();
    if (i >= rank) a.weight();
  }
  finish(a);
  return a.take();
}

Order zero_bubble_h2_order(const PipelineShape& shape, std::int64_t rank) {
  const std::int64_t m = shape.microbatches;
  ActionList a(m);
  for (std::int64_t i = 0; i < 2 * (shape.stages - rank) - 1; ++i) a.forward();
  for (std::int64_t i = 0; a.forwards() < m; ++i) {
    a.input();
    if (i >= rank && a.forwards() < m - rank) a.weight();
    a.forward();
  }
  finish(a);
  return a.take();
}

}  // namespace orrery::schedule
