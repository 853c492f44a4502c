// Performs a probe's steps with one executor a rank, each in its own thread, as a run does.
#pragma once

#include <atomic>
#include <vector>

#include "runtime/executor/executor.h"
#include "schedule/ir.h"

namespace orrery::runtime {

struct ProbeTimes {
  std::vector<StepPlan> plans;                           // by rank
  std::vector<std::vector<std::vector<OpTimes>>> times;  // by rank, step, op
  double cpu_s = 0.0;                                    // of the whole process, for those steps
};

// Two steps first, which are not kept and say how long one takes; then as many as fill `seconds`, at least 3
// and at most `most_steps`.
ProbeTimes run_probe(const schedule::Schedule& schedule, double seconds, std::int64_t most_steps);

}  // namespace orrery::runtime
