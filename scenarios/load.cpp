#include "scenarios/load.h"

#include <utility>

#include "base/data_root.h"
#include "scenarios/override.h"

namespace orrery::scenarios {

Json read_shipped_json(const std::string& path) {
  const std::string found = find_file(path, nullptr);
  return read_json(found.empty() ? path : found);
}

Scenario resolve_with(Json json, const std::vector<Assignment>& assignments) {
  for (const Assignment& each : assignments) json = apply_override(std::move(json), each.path, each.value);
  Diagnostics diagnostics;
  Scenario scenario = resolve_scenario(json, diagnostics);
  diagnostics.throw_if_errors();
  return scenario;
}

std::vector<Scenario> load_scenarios(const std::vector<std::string>& files, const std::vector<std::string>& sets) {
  std::vector<Assignment> assignments;
  for (const std::string& text : sets) assignments.push_back(parse_assignment(text));
  std::vector<Scenario> loaded;
  std::string errors;
  for (const std::string& file : files) {
    try {
      loaded.push_back(resolve_with(read_shipped_json(file), assignments));
    } catch (const InputError& error) {
      errors += error.what();
    }
  }
  if (!errors.empty()) throw InputError(errors);
  return loaded;
}

}  // namespace orrery::scenarios
