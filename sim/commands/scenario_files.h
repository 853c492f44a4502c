// The scenarios that a command line names, with the fields it sets.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "scenarios/load.h"
#include "scenarios/scenario.h"
#include "sim/metrics/predict.h"

namespace orrery::sim {

struct ScenarioOptions {
  std::vector<std::string> files, sets;
};
void declare_scenarios(CLI::App& app, ScenarioOptions& options);

// All of them; the errors of all files at once.
std::vector<scenarios::Scenario> load_scenarios(const ScenarioOptions& options);

// --full: every rank and microbatch is simulated, none taken for another. --emulated-stretch: predict.h.
PredictOptions predict_options(bool full, double emulated_stretch = 0.0);

}  // namespace orrery::sim
