// What is worth saying about a result: each finding with its number, what to try, and the line of the
// scenario that caused it.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "schedule/ir.h"
#include "schedule/verify.h"
#include "sim/metrics/result.h"

namespace orrery::sim {

// Does not fit (an error in severity, though the plan gets its time), risky, may not fit; host memory.
std::vector<Diagnostic> memory_advice(const scenarios::Scenario& scenario, const schedule::Schedule& schedule,
                                      const Result& result);

// Communication, idle GPUs, bubbles, the host.
std::vector<Diagnostic> time_advice(const scenarios::Scenario& scenario, const Result& result);

// Averaged microbatches, collectives that did not obey (UndisturbedTime::disobedient), checks left out.
std::vector<Diagnostic> answer_advice(const scenarios::Scenario& scenario, const Result& result,
                                      const std::vector<std::string>& disobedient,
                                      const std::vector<schedule::Finding>& unchecked);

}  // namespace orrery::sim
