// Averages over ranks: each class of ranks that was simulated weighs as many ranks as it stands for.
#pragma once

#include "schedule/ir.h"
#include "sim/engine/simulation.h"
#include "sim/metrics/result.h"

namespace orrery::sim {

// Fills the waterfall (and those of the stages), communication, bubble and busy shares. `result.stages` is
// there.
void fill_time_shares(const schedule::Schedule& schedule, const SimulationResult& simulation, Result& result);

// Throughputs, FLOP rates, MFU, HFU and the way to N tokens, from the step time and the FLOPs of a step.
void fill_rates(const scenarios::Scenario& scenario, Result& result);

}  // namespace orrery::sim
