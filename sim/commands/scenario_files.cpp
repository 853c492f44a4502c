#include "sim/commands/scenario_files.h"

namespace orrery::sim {

void declare_scenarios(CLI::App& app, ScenarioOptions& options) {
  app.add_option("FILE", options.files, "Scenario files")->type_name("")->required();
  app.add_option("--set", options.sets,
                 "Set a field: path=value, the value as JSON or a bare word (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

std::vector<scenarios::Scenario> load_scenarios(const ScenarioOptions& options) {
  return scenarios::load_scenarios(options.files, options.sets);
}

PredictOptions predict_options(bool full, double emulated_stretch) {
  PredictOptions options;
  options.emulated_stretch = emulated_stretch;
  options.simulation.fold = !full;
  options.simulation.extrapolate = !full;
  return options;
}

}  // namespace orrery::sim
