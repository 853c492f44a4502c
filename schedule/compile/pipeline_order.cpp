#include "schedule/compile/pipeline_order.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::schedule {

std::vector<Action> pipeline_order(scenarios::PipelineSchedule schedule, const PipelineShape& shape,
                                   std::int64_t stage) {
  switch (schedule) {
    case scenarios::PipelineSchedule::gpipe:
      return gpipe_order(shape, stage);
    case scenarios::PipelineSchedule::one_f_one_b:
      return one_f_one_b_order(shape, stage);
    case scenarios::PipelineSchedule::interleaved:
      return interleaved_order(shape, stage);
  }
  CHECK(false, "unknown pipeline schedule");
  return {};
}

Period pipeline_period(scenarios::PipelineSchedule schedule, const PipelineShape& shape) {
  switch (schedule) {
    case scenarios::PipelineSchedule::gpipe:
      return {.actions = 1, .microbatches = 1};
    case scenarios::PipelineSchedule::one_f_one_b:
      return {.actions = 2, .microbatches = 1};
    case scenarios::PipelineSchedule::interleaved:
      return {.actions = static_cast<std::size_t>(2 * shape.stages * shape.chunks),
              .microbatches = static_cast<std::uint32_t>(shape.stages)};
  }
  CHECK(false, "unknown pipeline schedule");
  return {};
}

// The oldest microbatch in flight only grows, so one pass with two cursors per chunk set suffices: a
// microbatch is done when all its chunks' backwards are.
std::uint32_t microbatches_in_flight(const std::vector<Action>& order) {
  std::uint32_t chunks = 0, newest = 0, most = 0, oldest = 0;
  for (const Action& a : order) chunks = std::max(chunks, a.chunk + 1);
  std::vector<std::uint32_t> backwards_left;
  for (const Action& a : order) {
    if (a.microbatch >= backwards_left.size()) backwards_left.resize(a.microbatch + 1, chunks);
    if (a.backward) {
      --backwards_left[a.microbatch];
      while (oldest < backwards_left.size() && backwards_left[oldest] == 0) ++oldest;
    } else {
      newest = std::max(newest, a.microbatch + 1);
      most = std::max(most, newest - std::min(newest, oldest));
    }
  }
  return most;
}

}  // namespace orrery::schedule
