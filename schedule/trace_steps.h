// How long the steps of a Trace took. One definition, so that `execute`, `compare` and `validate` say the same of one run:
//
//   step       from the first op of a step to the first op of the next, on each rank, averaged over ranks.
//              First op: of the compute stream, since messages and input are issued ahead.
//   step time  the median over the steps. The last step has no next one: its own span, to the end of its
//              last op, is told apart, and is the step time where there is no other.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/ir.h"
#include "schedule/trace.h"

namespace orrery::schedule {

// The records of one step of a rank.
struct StepRecords {
  std::size_t count = 0;  // one a traced op
  std::size_t first = 0;  // at whose begin the step begins
};
StepRecords step_records(const Program& program);

// When each step's first op began, and when the last step's last op ended: steps + 1 times. The rank's first
// `steps` steps are whole (trace_check.h), and there is at least one.
std::vector<std::int64_t> step_bounds(const StepRecords& of_step, const RankTrace& rank, std::int32_t steps);

struct StepTimes {
  std::vector<double> seconds;  // of each whole step with a next one; where there is only one: its span
  double last_span_s = 0.0;     // of the last whole step
};

// Of the whole steps; none where no step is whole. The trace is of the schedule.
StepTimes step_times(const Schedule& schedule, const Trace& trace);

}  // namespace orrery::schedule
