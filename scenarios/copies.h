// Weights that several ranks hold a copy of beside data parallelism, and whether training keeps the copies equal.
#pragma once

#include <string>

#include "scenarios/scenario.h"

namespace orrery::scenarios {

// Under top-k compression each rank selects among its own gradients (schedule/compile/data_parallel.cpp). Ranks of a tensor
// group share norms and biases but not the rest of a unit, and of the stages that share a tied embedding the first may hold
// positions and a norm beside it, so they select different elements of what they share, and their copies drift apart. How
// long a step takes does not depend on that. Why it happens under this plan; empty: it does not.
std::string why_copies_drift(const Scenario& scenario);

}  // namespace orrery::scenarios
