// The whole of Orrery in one call: scenario -> schedule -> verify -> memory -> simulate -> Result.
#pragma once

#include "scenarios/scenario.h"
#include "schedule/ir.h"
#include "sim/metrics/result.h"

namespace orrery::sim {

struct Prediction {
  schedule::Schedule schedule;
  SimulationResult simulation;
  Result result;
};

struct PredictOptions {
  SimulationOptions simulation;
  bool verify = true;
};

// Throws InputError when the schedule deadlocks (it points at the scenario's schedule). A plan that does not
// fit still gets its time, marked.
Prediction predict(const scenarios::Scenario& scenario, const PredictOptions& options = {});

}  // namespace orrery::sim
