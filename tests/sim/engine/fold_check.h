// Whether ranks of a kind, simulated once, do at every instant what they do when all are simulated.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "sim/engine/simulation.h"

namespace orrery::sim::test {

// Returns the number of classes.
inline std::size_t expect_fold_is_exact(const schedule::Schedule& s, const hardware::Cluster& cluster,
                                        const KernelCost& cost, const NetworkModel& network) {
  SimulationOptions options{.fold = true, .extrapolate = false, .trace = true};
  const SimulationResult folded = simulate(s, cluster, cost, network, options);
  options.fold = false;
  const SimulationResult full = simulate(s, cluster, cost, network, options);
  EXPECT_FALSE(folded.deadlocked || full.deadlocked);
  EXPECT_EQ(folded.step_time, full.step_time);
  EXPECT_EQ(full.classes.size(), static_cast<std::size_t>(s.world));
  std::int64_t ranks = 0;
  std::array<Duration, kShares> sum_folded{}, sum_full{};
  for (const ClassResult& c : folded.classes) {
    const ClassResult& same = full.classes[static_cast<std::size_t>(c.representative)];
    EXPECT_EQ(same.representative, c.representative);
    EXPECT_EQ(c.waterfall, same.waterfall) << "rank " << c.representative;
    EXPECT_EQ(c.communication, same.communication) << "rank " << c.representative;
    EXPECT_EQ(c.communication_any, same.communication_any);
    EXPECT_EQ(c.compute_alone, same.compute_alone);
    Duration sum;
    for (std::size_t i = 0; i < kShares; ++i) {
      sum_folded[i] += c.waterfall[i] * c.ranks;
      sum += c.waterfall[i];
    }
    EXPECT_EQ(sum, folded.step_time);
    ranks += c.ranks;
  }
  EXPECT_EQ(ranks, s.world);
  for (const ClassResult& c : full.classes)
    for (std::size_t i = 0; i < kShares; ++i) sum_full[i] += c.waterfall[i];
  EXPECT_EQ(sum_folded, sum_full);
  std::map<std::pair<std::int64_t, std::uint32_t>, TraceRecord> of_full;
  for (const TraceRecord& t : full.trace) of_full[{t.rank, t.op}] = t;
  for (const TraceRecord& t : folded.trace) {
    const TraceRecord& same = of_full.at({t.rank, t.op});
    EXPECT_TRUE(t.ready == same.ready && t.start == same.start && t.end == same.end) << t.rank << " " << t.op;
  }
  return folded.classes.size();
}

}  // namespace orrery::sim::test
