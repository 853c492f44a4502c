// See sharing.h for the equations. Vectors keep their room between problems, so a steady simulation allocates
// nothing.
#include "sim/engine/sharing.h"

#include <algorithm>

namespace orrery::sim::engine {

void MaxMinSolver::clear() {
  loads_.clear();
  first_.assign(1, 0);
  rates_.clear();
  free_.clear();
  rising_.clear();
}

void MaxMinSolver::add_activity(std::span<const Load> loads) {
  for (const Load& load : loads) {
    if (load.weight == 0) continue;
    if (load.resource >= free_.size()) {
      free_.resize(load.resource + 1, std::int64_t{kFullLoad} * kFullRate);
      rising_.resize(load.resource + 1, 0);
    }
    rising_[load.resource] += load.weight;
    loads_.push_back(load);
  }
  first_.push_back(static_cast<std::uint32_t>(loads_.size()));
  rates_.push_back(-1);
}

bool MaxMinSolver::raise() {
  std::int64_t level = kFullRate;
  for (std::size_t k = 0; k < free_.size(); ++k)
    if (rising_[k] > 0) level = std::min(level, free_[k] / rising_[k]);
  const auto fills = [&](const Load& load) {
    return level == kFullRate || free_[load.resource] / rising_[load.resource] == level;
  };
  bool rising = false;
  // Who is fixed is decided for all before anything is taken from the resources.
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    if (rates_[i] >= 0) continue;
    const std::span<const Load> loads(loads_.data() + first_[i], first_[i + 1] - first_[i]);
    const bool fixed = level == kFullRate || std::any_of(loads.begin(), loads.end(), fills);
    if (fixed) rates_[i] = -2;
    rising |= !fixed;
  }
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    if (rates_[i] != -2) continue;
    rates_[i] = level;
    for (std::uint32_t l = first_[i]; l < first_[i + 1]; ++l) {
      free_[loads_[l].resource] -= level * loads_[l].weight;
      rising_[loads_[l].resource] -= loads_[l].weight;
    }
  }
  return rising;
}

std::span<const std::int64_t> MaxMinSolver::solve() {
  while (!rates_.empty() && raise()) {
  }
  return rates_;
}

}  // namespace orrery::sim::engine
