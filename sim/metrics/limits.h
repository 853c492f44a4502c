// Legal scenarios that no simulation can answer: links so slow that a step would take weeks, and more ops
// than memory holds where every microbatch is unrolled. They are refused before anything is simulated, with
// the number and what to change. Picoseconds in 64 bits end at 106 days; two steps and the beginning of a
// third are simulated, and transfers that share links take longer than undisturbed.
#pragma once

#include <string>

#include "scenarios/scenario.h"
#include "schedule/ir.h"
#include "sim/engine/simulation.h"
#include "sim/metrics/undisturbed_time.h"

namespace orrery::sim {

inline constexpr double kMostStepSeconds = 10.0 * 86'400.0;
inline constexpr double kMostUnrolledOps = 2e7;  // about 100 B each; traces keep about as much again

// Throws InputError where one rank of each program together would work longer than that.
void refuse_endless(const scenarios::Scenario& scenario, const UndisturbedTime& undisturbed);

// The same of a single op that the clock cannot hold; `what` says how long it is.
[[noreturn]] void refuse_endless_op(const scenarios::Scenario& scenario, const std::string& what);

// Throws InputError where every microbatch is asked for (--full, --trace) and they are too many.
void refuse_too_large(const scenarios::Scenario& scenario, const schedule::Schedule& schedule,
                      const SimulationOptions& options);

}  // namespace orrery::sim
