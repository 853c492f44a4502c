// Turns a stage's order of actions into its list of calls. This is where the passes meet: around the forwards
// and backwards it puts recomputation, messages, gathers and reductions, and behind them the optimizer. A
// stretch of the order that repeats itself with later microbatches becomes one Repeat.
#pragma once

#include <optional>
#include <vector>

#include "schedule/compile/blocks.h"
#include "schedule/compile/point_to_point.h"
#include "schedule/compile/stage.h"

namespace orrery::schedule {

// A stretch of `steps` that repeats: [first, first + count * actions).
struct Stretch {
  std::size_t first = 0;
  std::size_t actions = 1;
  std::uint32_t count = 1;
  std::uint32_t microbatches = 1;  // per repetition
};
std::vector<Stretch> find_stretches(const std::vector<StageStep>& steps);

// Writes program.calls and program.repeats.
void write_program(Stage& s, const Order& order);

}  // namespace orrery::schedule
