// DualPipe (DeepSeek-V3 report 2024, section 3.2.1, figure 5) and DualPipe-V, its half.
//
// DualPipe: every rank holds the stage of its number and, for a second stream of microbatches that goes the other way,
// that of its mirror; so each stage's parameters are there twice. In the middle of the step a forward of one stream
// and a backward of the other run as one block, F&B, so that each one's communication hides behind the other's
// computation. DualPipe-V folds it: p ranks as one half of 2 p, the streams joined at the turn, parameters once.
//
// Half a pipeline is h ranks, r = 0 at its end; "near" is the chunk whose stream begins at this end, "far" the other:
//
//   2 (h - r - 1) F near;  r + 1 times F near, F far;  h - r - 1 times B W F far;
//   m - 2 h + r + 1 times F near & B far, F far & B near;                  m: microbatches of one stream
//   h - r - 1 times B far, F far & B near;  r + 1 times B far, B near, the second half of them without W;
//   h - r - 1 times W, B near;  the weights left.
//
// Bubble (h - 1)(F&B + B - 3 W), B being the whole backward; 2 h + 1 chunks in flight. A stream needs 2 h microbatches.
#include <algorithm>

#include "schedule/compile/action_list.h"

namespace orrery::schedule {
namespace {

struct End {
  std::int64_t ranks = 1, rank = 0;  // of the half, from its end
  std::uint32_t near = 0, far = 1;
};

void cool_down(ActionList& a, const End& end) {
  const std::int64_t pairs = end.rank + 1, behind = end.ranks - end.rank - 1;
  for (std::int64_t i = 0; i < 2 * pairs; ++i) {
    const std::uint32_t chunk = i % 2 == 0 ? end.far : end.near;
    if (i < pairs)
      a.whole(chunk);
    else
      a.input(chunk);
  }
  for (std::int64_t i = 0; i < behind; ++i) {
    a.next_weight();
    a.input(end.near);
  }
  while (!a.complete()) a.next_weight();
}

Order half_order(ActionList a, std::int64_t microbatches, const End& end) {
  const std::int64_t behind = end.ranks - end.rank - 1;
  for (std::int64_t i = 0; i < 2 * behind; ++i) a.forward(end.near);
  for (std::int64_t i = 0; i <= end.rank; ++i) {
    a.forward(end.near);
    a.forward(end.far);
  }
  for (std::int64_t i = 0; i < behind; ++i) {
    a.input(end.far);
    a.weight(end.far);
    a.forward(end.far);
  }
  for (std::int64_t i = 0; i < microbatches - 2 * end.ranks + end.rank + 1; ++i) {
    a.both(end.near, end.far);
    a.both(end.far, end.near);
  }
  for (std::int64_t i = 0; i < behind; ++i) {
    a.whole(end.far);
    a.both(end.far, end.near);
  }
  cool_down(a, end);
  return a.take();
}

}  // namespace

Order dual_pipe_order(const PipelineShape& shape, std::int64_t rank) {
  const bool first_half = rank < shape.stages / 2;
  const End end{.ranks = shape.stages / 2,
                .rank = std::min(rank, shape.stages - 1 - rank),
                .near = first_half ? 0U : 1U,
                .far = first_half ? 1U : 0U};
  const std::int64_t of_stream = shape.microbatches / 2;
  return half_order(ActionList(of_stream, 2, 2), of_stream, end);
}

Order dual_pipe_v_order(const PipelineShape& shape, std::int64_t rank) {
  return half_order(ActionList(shape.microbatches, 2), shape.microbatches, {.ranks = shape.stages, .rank = rank});
}

}  // namespace orrery::schedule
