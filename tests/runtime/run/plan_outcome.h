// A plan performed by the runtime, ranks as threads, and what came of it: for comparisons between plans.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/run/rank_run.h"
#include "scenarios/scenario.h"

namespace orrery::runtime {

using GlobalTensors = std::map<std::string, std::vector<double>>;  // row-major

struct PlanOutcome {
  std::vector<double> losses;
  GlobalTensors weights;    // the optimizer's own copy, after the last step
  GlobalTensors gradients;  // of the last step, before clipping
  schedule::Trace trace;
};

// Throws what ended the run.
PlanOutcome perform(const scenarios::Scenario& scenario, const RunOptions& options);

// |a - b| of a tensor, and |b|.
struct Distance {
  double off = 0.0, size = 0.0;
  std::size_t elements = 0;
};
Distance distance(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace orrery::runtime
