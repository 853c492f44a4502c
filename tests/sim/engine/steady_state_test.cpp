// Extrapolated equals full to the picosecond, wherever the loop is judged to be periodic, and nothing is
// extrapolated where something still catches up.
#include <gtest/gtest.h>

#include "sim/engine/simulation.h"
#include "tests/sim/engine/random_schedule.h"

namespace orrery::sim::test {
namespace {

using schedule::OpKind;
using schedule::Stream;

// Returns the number of microbatches that were simulated.
std::int64_t expect_extrapolation_is_exact(const schedule::Schedule& s, const MachineShape& shape,
                                           const hardware::Cluster& cluster) {
  const SmallNetwork network(shape);
  const ShapeCost cost;
  const SimulationResult full = simulate(s, cluster, cost, network, {.extrapolate = false});
  const SimulationResult few = simulate(s, cluster, cost, network, {.extrapolate = true});
  EXPECT_FALSE(full.deadlocked || few.deadlocked);
  EXPECT_EQ(full.microbatches_simulated, s.microbatches);
  EXPECT_EQ(few.step_time, full.step_time);
  EXPECT_EQ(few.classes.size(), full.classes.size());
  for (std::size_t c = 0; c < few.classes.size() && c < full.classes.size(); ++c) {
    EXPECT_EQ(few.classes[c].waterfall, full.classes[c].waterfall);
    EXPECT_EQ(few.classes[c].communication, full.classes[c].communication);
    EXPECT_EQ(few.classes[c].communication_any, full.classes[c].communication_any);
    EXPECT_EQ(few.classes[c].compute_alone, full.classes[c].compute_alone);
  }
  return few.microbatches_simulated;
}

TEST(SteadyState, Pipelines) {
  int periodic = 0, loops = 0;
  for (const std::int64_t p : {1, 2, 3, 5})
    for (const std::int64_t m : {30, 61, 100, 257})
      for (const std::int64_t bytes : {0, 130, 1900}) {
        SCOPED_TRACE(testing::Message() << "p " << p << " m " << m << " bytes " << bytes);
        const MachineShape shape{.world = p, .latency = 11, .sms = 10, .port_weight = 40000};
        for (const std::int64_t issue : {0, 70, 900})
          for (const bool all_forwards_first : {false, true}) {
            const schedule::Schedule s =
                all_forwards_first ? gpipe(p, m, 1000, 2000, bytes) : one_f_one_b(p, m, 1000, 2000, bytes);
            const std::int64_t simulated = expect_extrapolation_is_exact(s, shape, small_cluster(issue));
            periodic += simulated < m ? 1 : 0;
            loops += m > 60 ? 1 : 0;
          }
        if (HasFailure()) return;
      }
  EXPECT_GT(periodic, loops / 3);
}

TEST(SteadyState, RandomLoops) {
  std::int64_t extrapolated = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Grid grid = seed % 2 == 0 ? Grid{2, 1, 2} : Grid{1, 2, 3};
    const schedule::Schedule s = random_schedule({.grid = grid,
                                                  .ops = 8,
                                                  .iterations = 150,
                                                  .slots = 1 + static_cast<std::uint32_t>(seed % 3),
                                                  .joined_steps = seed % 4 == 1,
                                                  .joined_iterations = seed % 4 > 1},
                                                 seed);
    const MachineShape shape{.world = grid.world(),
                             .gpus_per_node = 2,
                             .latency = 3,
                             .sms = 7,
                             .port_weight = 50000,
                             .nic_weight = 50000};
    extrapolated +=
        expect_extrapolation_is_exact(s, shape, small_cluster(seed % 3 == 0 ? 35 : 0)) < 150 ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(extrapolated, 40);
}

// The data stream needs more time per iteration than the compute stream, but begins far behind it in the
// count: for hundreds of iterations the step grows by the compute time only. A straight line through few of
// them would be wrong.
TEST(SteadyState, SlowStreamThatWillRuleIsSeen) {
  schedule::Schedule s = empty_schedule({});
  s.microbatches = 1000;
  ProgramBuilder b(s);
  const std::uint32_t token = b.token();
  b.block("prologue");
  b.kernel(50'000);
  b.block("iteration");
  b.kernel(1000);
  b.copy(1100);
  b.block("epilogue");
  b.copy(1).record(b.formal(token));
  b.call(0);
  b.repeat(1, 1, 1000);
  b.call(1, 0, 1);
  b.call(2);
  EXPECT_EQ(expect_extrapolation_is_exact(s, {}, small_cluster()), 1000);
}

// The same of the host: a prologue gives it a lead that the loop uses up slowly.
TEST(SteadyState, HostThatLosesItsLeadIsSeen) {
  schedule::Schedule s = empty_schedule({});
  s.microbatches = 1000;
  ProgramBuilder b(s);
  b.block("prologue");
  b.kernel(40'000);
  b.block("iteration");
  b.kernel(1000);
  b.call(0);
  b.repeat(1, 1, 1000);
  b.call(1, 0, 1);
  EXPECT_EQ(expect_extrapolation_is_exact(s, {}, small_cluster(1100)), 1000);
  EXPECT_LT(expect_extrapolation_is_exact(s, {}, small_cluster(900)), 100);
}

// Three stages whose kernels are slowed by messages: the stages slide against each other and never repeat.
// Long loops are then answered by the mean of many iterations, and say so.
TEST(SteadyState, LoopsThatNeverRepeatAreAveraged) {
  const MachineShape shape{.world = 3, .latency = 11, .sms = 10, .port_weight = 40000};
  const std::int64_t m = 3000;
  const schedule::Schedule s = one_f_one_b(3, m, 1000, 2000);
  const SimulationResult r =
      simulate(s, small_cluster(), ShapeCost(), SmallNetwork(shape), {.affordable_events = 40'000});
  EXPECT_FALSE(r.exact);
  EXPECT_LT(r.microbatches_simulated, m / 2);
  const SimulationResult full =
      simulate(s, small_cluster(), ShapeCost(), SmallNetwork(shape), {.extrapolate = false});
  EXPECT_TRUE(full.exact);
  EXPECT_EQ(simulate(s, small_cluster(), ShapeCost(), SmallNetwork(shape), {}).step_time, full.step_time);
  EXPECT_NEAR(r.step_time / full.step_time, 1.0, 1e-4);
  for (const ClassResult& c : r.classes) {
    Duration sum;
    for (const Duration share : c.waterfall) sum += share;
    EXPECT_EQ(sum, r.step_time);
  }
}

}  // namespace
}  // namespace orrery::sim::test
