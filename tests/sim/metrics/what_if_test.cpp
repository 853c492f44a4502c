// A machine with one resource twice as fast: never slower, and what limits a plan gains the most.
#include "sim/metrics/what_if.h"

#include <gtest/gtest.h>

#include "scenarios/load.h"

namespace orrery::sim {
namespace {

TEST(WhatIf, ComputeBoundStepsGainFromFlops) {
  const scenarios::Scenario s = scenarios::load_scenarios({"scenarios/quickstart.json"}, {}).front();
  const double step = predict(s).result.step_time_s.value;
  const std::vector<Gain> all = gains(s);
  ASSERT_EQ(all.size(), 5U);  // one machine: no NICs
  EXPECT_EQ(all.front().resource, Resource::compute);
  for (const Gain& gain : all) EXPECT_LE(gain.step_time_s, step * (1.0 + 1e-9)) << word(gain.resource);
  EXPECT_GT(all.front().step_time_s, 0.5 * step);
}

TEST(WhatIf, NetworkBoundStepsGainFromNics) {
  const scenarios::Scenario s =
      scenarios::load_scenarios({"scenarios/quickstart.json"},
                                {"cluster=hardware/clusters/a100-80g-16x8-tcp-25g.json", "training.micro_batch=1",
                                 "training.global_batch=128"})
          .front();
  EXPECT_EQ(gains(s).front().resource, Resource::network);
}

}  // namespace
}  // namespace orrery::sim
