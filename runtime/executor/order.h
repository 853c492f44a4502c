// What has surely ended when an op starts, from stream order and waits alone: vector clocks over the streams of one rank.
// clock[s] = how many entries of stream s's queue, counted from the start of the step, have ended. The arena rests on it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/executor/step_plan.h"

namespace orrery::runtime {

// Entries of the step before are 0 and less: entry e of it has number e - (entries of that stream in a step).
using Clock = std::array<std::int32_t, schedule::kStreams>;

class Order {
 public:
  explicit Order(const StepPlan& plan);
  // In a step that is not the first: op `before` (of the same step) has surely ended when `after` starts.
  bool ends_before(std::uint32_t before, std::uint32_t after) const;
  // The same for `before` in the step before `after`'s.
  bool ended_in_previous_step(std::uint32_t before, std::uint32_t after) const;

 private:
  const StepPlan& plan_;
  std::vector<Clock> at_start_;  // by op
};

}  // namespace orrery::runtime
