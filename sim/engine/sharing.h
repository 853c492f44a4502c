// Max-min fair speeds of activities that share resources: a pure solver on integers that knows no links and
// no time.
//
// Activity i runs at a speed x_i in [0, kFullRate]; on resource k it has weight w_ik, and the resource has
// capacity kFullLoad. Feasible:   sum_i w_ik x_i <= kFullLoad * kFullRate   for every k. Max-min fair: no x_i
// can be raised without lowering some x_j <= x_i. That point is unique, and found by filling (Bertsekas &
// Gallager 1992, section 6.5.2): all speeds rise together; the first resource to fill up fixes its activities
// there; the others go on:
//     level_k = floor((kFullLoad * kFullRate - sum of fixed w_ik x_i) / sum of rising w_ik),
//     fix every rising activity of every resource with the least level_k, at that level; stop at kFullRate.
// Rounding down keeps every resource within its capacity. The result depends on sums only, never on the order
// of the activities, so equal activities get equal speeds and one activity of double weight acts as two.
// Cost: rounds x loads, rounds <= number of full resources.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/network_model.h"

namespace orrery::sim::engine {

inline constexpr std::int64_t kFullRate = std::int64_t{1} << 24;

class MaxMinSolver {
 public:
  void clear();
  void add_activity(std::span<const Load> loads);  // resources are small local numbers
  // Speeds in the order of add_activity; valid until the next clear.
  std::span<const std::int64_t> solve();

 private:
  bool raise();  // one round of filling; false: all are fixed
  std::vector<Load> loads_;
  std::vector<std::uint32_t> first_{0};
  std::vector<std::int64_t> rates_;   // -1: rising
  std::vector<std::int64_t> free_;    // [resource], weight x rate left
  std::vector<std::int64_t> rising_;  // [resource], weight of rising activities
};

}  // namespace orrery::sim::engine
