// What is calibrated where no scenario is named: two small models, one of them in two precisions. As text, so
// that they need no files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::runtime {

struct ScenarioText {
  std::string name, json;
};

inline constexpr std::int64_t kMostRanks = 64;  // of one node

// For `ranks` ranks. The cluster is a CPU machine without measurements.
std::vector<ScenarioText> default_scenarios(std::int64_t ranks);

// A CPU machine of that many ranks, as a cluster that can be read and says nothing true about times.
std::string unmeasured_cluster(std::int64_t ranks);

}  // namespace orrery::runtime
