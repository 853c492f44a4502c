// ZB-V (Qi et al. 2023, section 6): two chunks a rank, down the ranks and up again, so that the first rank has the
// first and the last stage, and a microbatch's backward starts where its forward ended. Chunk 0 goes down. On rank r
// of p, with F0 the forward of chunk 0, and so on:
//
//   2 (p - r) - 1 times F0;  r times F1 F0;  p - r times F1 B1 W1;  then F0 B0 W0 F1 B1 W1 in turn;  behind the last
//   forward r times B0 B1;  p - r times B0 W0;  then the weights left.
//
// No bubble where F = B = W of every chunk (each rank starts and ends r F late), with 2 p chunks in flight on every
// rank: what the first rank of 1F1B holds. That is for 2 p - 1 microbatches or more; fewer are run, with a bubble.
#include "schedule/compile/action_list.h"

namespace orrery::schedule {

Order zero_bubble_v_order(const PipelineShape& shape, std::int64_t rank) {
  const std::int64_t m = shape.microbatches, behind = shape.stages - rank;
  ActionList a(m, 2);
  for (std::int64_t i = 0; i < 2 * behind - 1; ++i) a.forward(0);
  for (std::int64_t i = 0; i < rank; ++i) {
    a.forward(1);
    a.forward(0);
  }
  for (std::int64_t i = 0; i < behind; ++i) {
    a.forward(1);
    a.input(1);
    a.weight(1);
  }
  while (a.forwards(1) < m)
    for (const std::uint32_t chunk : {0U, 1U}) {
      a.forward(chunk);
      a.input(chunk);
      a.weight(chunk);
    }
  for (std::int64_t i = 0; i < rank; ++i) {
    a.input(0);
    a.input(1);
  }
  for (std::int64_t i = 0; i < behind; ++i) {
    a.input(0);
    a.weight(0);
  }
  while (!a.complete())
    for (const std::uint32_t chunk : {1U, 0U}) {
      a.input(chunk);
      a.weight(chunk);
    }
  return a.take();
}

}  // namespace orrery::schedule
