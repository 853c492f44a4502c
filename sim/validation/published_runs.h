// Measured training runs that somebody published, as scenarios with what was measured in them: validation/runs/*.json.
// docs/reference/validation-runs.md describes the file.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace orrery::sim {

struct PublishedRun {
  std::string id;         // the scenario's name
  std::string source;     // the file's name without its ending: "korthikanti2022"
  std::string framework;  // as the source calls it: "Megatron-Core r0.8.0"
  std::string date;       // of the publication
  std::string level;      // "full": everything critical is stated; "near", "partial"
  scenarios::Scenario scenario;
  double step_time_s = 0.0;    // measured, or computed from a measured rate
  double memory_bytes = 0.0;   // measured peak of the fullest GPU; 0: not stated
};

// Of all files of `directory` that hold "runs", in the order of names. Throws InputError with all errors of all files.
std::vector<PublishedRun> read_published_runs(const std::string& directory);

}  // namespace orrery::sim
