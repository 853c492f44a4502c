// The same step on a machine with one resource twice as fast, by simulation: what limits a plan, and what money would buy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "sim/metrics/predict.h"

namespace orrery::sim {

enum class Resource : std::uint8_t { compute, memory_bandwidth, nvlink, pcie, network, host };
inline constexpr Resource kResources[] = {Resource::compute, Resource::memory_bandwidth, Resource::nvlink,
                                          Resource::pcie,    Resource::network,          Resource::host};
std::string_view word(Resource resource);

// Whether the scenario's machine has it, and time can depend on it.
bool has(const scenarios::Scenario& scenario, Resource resource);

// `scenario` with that resource twice as fast, all else equal.
scenarios::Scenario twice(const scenarios::Scenario& scenario, Resource resource);

struct Gain {
  Resource resource = Resource::compute;
  double step_time_s = 0.0;
};
// Of every resource that the machine has, the largest gain first. One prediction each.
std::vector<Gain> gains(const scenarios::Scenario& scenario, const PredictOptions& options = {});

}  // namespace orrery::sim
