// Random schedules that cannot deadlock: every program is appended to in one global order, and each op waits
// only for events that are recorded before it in that order (or, through reused slots, in an earlier
// iteration or step).
#pragma once

#include <cstdint>

#include "tests/sim/engine/small_schedule.h"

namespace orrery::sim::test {

struct RandomShape {
  Grid grid;
  int ops = 12;  // of each program's block, about
  std::uint32_t iterations = 3;
  std::uint32_t slots = 2;
  bool kernels_everywhere = false;  // kernels on the data stream too: they share the GPU
  // All streams of all ranks meet between two steps, or between two iterations.
  bool joined_steps = false, joined_iterations = false;
  bool rings = false;  // messages along rings of the tensor group
};
schedule::Schedule random_schedule(const RandomShape& shape, std::uint64_t seed);

}  // namespace orrery::sim::test
