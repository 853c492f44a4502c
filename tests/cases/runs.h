// Scenarios of this repository, predicted as the command line does: a file and the fields that `--set` sets.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "sim/metrics/result.h"

namespace orrery::cases {

struct Case {
  scenarios::Scenario scenario;
  sim::Result result;
  double step() const { return result.step_time_s.value; }
  double exposed() const { return result.communication_exposed; }
  bool fits() const { return result.verdict != sim::Verdict::does_not_fit; }
};

// `sets`: "training.micro_batch=2", ... Throws InputError.
Case run_case(const std::string& path, const std::vector<std::string>& sets = {});

// The scenario files below scenarios/, bases/ left out, in order.
std::vector<std::string> shipped_scenarios();

}  // namespace orrery::cases
