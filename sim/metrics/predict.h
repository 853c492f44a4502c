// The whole of Orrery in one call: scenario -> schedule -> verify -> memory -> simulate -> Result.
#pragma once

#include <optional>

#include "scenarios/scenario.h"
#include "schedule/ir.h"
#include "schedule/verify.h"
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
  std::optional<schedule::Schedule> given;  // in place of the scenario's own
  schedule::VerifyOptions verification;
  // What `orrery-rt --emulate` performs: kernels that are waits, this many times as long, which share nothing.
  // 0: the scenario's own kernels.
  double emulated_stretch = 0.0;
};

// Throws InputError when the schedule deadlocks (it points at the scenario's schedule), and when it is too
// long or too large to simulate (limits.h). A plan that does not fit still gets its time, marked.
Prediction predict(const scenarios::Scenario& scenario, const PredictOptions& options = {});

}  // namespace orrery::sim
