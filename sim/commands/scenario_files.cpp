#include "sim/commands/scenario_files.h"

#include <utility>

#include "base/data_root.h"
#include "scenarios/override.h"

namespace orrery::sim {

void declare_scenarios(CLI::App& app, ScenarioOptions& options) {
  app.add_option("FILE", options.files, "Scenario files")->type_name("")->required();
  app.add_option("--set", options.sets,
                 "Set a field: path=value, the value as JSON or a bare word (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

Json read_shipped_json(const std::string& path) {
  const std::string found = find_file(path, nullptr);
  return read_json(found.empty() ? path : found);
}

scenarios::Scenario resolve_with(Json json, const std::vector<Assignment>& assignments) {
  for (const Assignment& each : assignments)
    json = scenarios::apply_override(std::move(json), each.path, each.value);
  Diagnostics diagnostics;
  scenarios::Scenario scenario = scenarios::resolve_scenario(json, diagnostics);
  diagnostics.throw_if_errors();
  return scenario;
}

std::vector<scenarios::Scenario> load_scenarios(const ScenarioOptions& options) {
  std::vector<Assignment> assignments;
  for (const std::string& text : options.sets) assignments.push_back(parse_assignment(text));
  std::vector<scenarios::Scenario> loaded;
  std::string errors;
  for (const std::string& file : options.files) {
    try {
      loaded.push_back(resolve_with(read_shipped_json(file), assignments));
    } catch (const InputError& error) {
      errors += error.what();
    }
  }
  if (!errors.empty()) throw InputError(errors);
  return loaded;
}

PredictOptions predict_options(bool full) {
  PredictOptions options;
  options.simulation.fold = !full;
  options.simulation.extrapolate = !full;
  return options;
}

}  // namespace orrery::sim
