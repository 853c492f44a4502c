// A scenario beside what was predicted for it: what every report prints. The objects are the caller's.
#pragma once

#include "scenarios/scenario.h"
#include "sim/metrics/result.h"

namespace orrery::sim {

struct Compared {
  const scenarios::Scenario* scenario = nullptr;
  const Result* result = nullptr;
};

}  // namespace orrery::sim
