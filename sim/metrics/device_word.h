// What reports call the thing that a rank computes on: a GPU, or, where ranks share the cores of a machine, just the rank.
#pragma once

#include <string>

#include "scenarios/scenario.h"

namespace orrery::sim {

inline std::string device_word(const scenarios::Scenario& scenario) {
  return scenario.cluster.gpu.kind == hardware::DeviceKind::cpu ? "rank" : "GPU";
}

}  // namespace orrery::sim
