#include "tests/cases/runs.h"

#include <algorithm>
#include <filesystem>

#include "scenarios/assignment.h"
#include "sim/commands/scenario_files.h"
#include "sim/metrics/predict.h"

namespace orrery::cases {

Case run_case(const std::string& path, const std::vector<std::string>& sets) {
  std::vector<scenarios::Assignment> assignments;
  for (const std::string& set : sets) assignments.push_back(scenarios::parse_assignment(set));
  Case r;
  r.scenario = scenarios::resolve_with(scenarios::read_shipped_json(path), assignments);
  r.result = sim::predict(r.scenario).result;
  return r;
}

std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("scenarios")) {
    const std::string path = entry.path().generic_string();
    if (entry.path().extension() == ".json" && path.find("/bases/") == std::string::npos)
      paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace orrery::cases
