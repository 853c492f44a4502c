// What is worth saying about a result: each finding with its number, what to try, and the line of the
// scenario that caused it.
#pragma once

#include <vector>

#include "scenarios/scenario.h"
#include "schedule/ir.h"
#include "sim/metrics/result.h"

namespace orrery::sim {

// Does not fit (an error in severity, though the plan gets its time), risky, may not fit; host memory.
std::vector<Diagnostic> memory_advice(const scenarios::Scenario& scenario, const Result& result);

// Communication, idle GPUs, bubbles, the host.
std::vector<Diagnostic> time_advice(const scenarios::Scenario& scenario, const Result& result);

}  // namespace orrery::sim
