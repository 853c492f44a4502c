// A simulation as a Trace, the form in which both machines say when each op ran. Picoseconds become
// nanoseconds, rounded down; time 0 is when the first op of the first kept step began, so what was ready
// before is negative.
#pragma once

#include "schedule/trace.h"
#include "sim/metrics/predict.h"

namespace orrery::sim {

// Steps that a trace keeps to be held against a measured one: their middle one has all neighbours. One more
// is simulated before them, so that they are steady.
inline constexpr int kSteadyTracedSteps = 3;
PredictOptions with_steady_trace(PredictOptions options);

// Of a simulation with SimulationOptions::trace: its steps, ranks that were simulated, and who stands for
// whom. Names and paths are left empty.
schedule::Trace to_trace(const schedule::Schedule& schedule, const SimulationResult& simulation);

// The same with names.
schedule::Trace to_trace(const scenarios::Scenario& scenario, const Prediction& prediction);

}  // namespace orrery::sim
