// Pipelines with known answers: bubbles, fewer microbatches than stages, very many microbatches.
#include <gtest/gtest.h>

#include "sim/engine/simulation.h"
#include "tests/sim/engine/small_schedule.h"

namespace orrery::sim::test {
namespace {

SimulationResult run(const schedule::Schedule& s, const SimulationOptions& options = {}) {
  return simulate(s, small_cluster(), ShapeCost(), SmallNetwork({.world = s.world}), options);
}

std::int64_t share(const ClassResult& c, Share share) {
  return c.waterfall[static_cast<std::size_t>(share)].ps();
}

// With free communication the makespan of 1F1B and of GPipe is (m + p - 1)(f + b), and each stage idles for p
// - 1 of these slots: a bubble fraction of (p - 1) / (m + p - 1). Fewer microbatches than stages are no
// exception.
TEST(Pipeline, MakespanAndBubble) {
  for (const std::int64_t p : {1, 2, 3, 4, 8})
    for (const std::int64_t m : {1, 2, 3, 4, 7, 12, 40}) {
      const std::int64_t f = 1000, b = 2100;
      for (const bool all_forwards_first : {false, true}) {
        const schedule::Schedule s = all_forwards_first ? gpipe(p, m, f, b) : one_f_one_b(p, m, f, b);
        const SimulationResult r = run(s);
        EXPECT_EQ(r.step_time.ps(), (m + p - 1) * (f + b)) << "p " << p << " m " << m;
        ASSERT_EQ(r.classes.size(), static_cast<std::size_t>(p));
        for (const ClassResult& c : r.classes) {
          EXPECT_EQ(share(c, Share::compute), m * (f + b));
          EXPECT_EQ(share(c, Share::bubble), (p - 1) * (f + b));
          EXPECT_EQ(c.compute_alone.ps(), m * (f + b));
        }
      }
    }
}

// A message on the way of every microbatch: the last stage's first forward comes (p - 1)(f + c) late.
TEST(Pipeline, MessagesDelayTheWarmUp) {
  const std::int64_t p = 4, m = 1, f = 1000, b = 2000, c = 70;
  const SimulationResult r = run(one_f_one_b(p, m, f, b, c));
  EXPECT_EQ(r.step_time.ps(), p * (f + b) + 2 * (p - 1) * c);
  for (const ClassResult& of : r.classes)
    EXPECT_EQ(of.communication[2].ps(), of.representative == 0 || of.representative == p - 1 ? 2 * c : 4 * c);
}

TEST(Pipeline, VeryManyMicrobatchesAreNotSimulated) {
  const std::int64_t m = 32768, p = 4, f = 1000, b = 2000;
  for (const bool all_forwards_first : {false, true}) {
    const SimulationResult r = run(all_forwards_first ? gpipe(p, m, f, b) : one_f_one_b(p, m, f, b));
    EXPECT_EQ(r.step_time.ps(), (m + p - 1) * (f + b));
    EXPECT_LT(r.microbatches_simulated, 64);
    EXPECT_LT(r.events, 20'000U);
    for (const ClassResult& c : r.classes) EXPECT_EQ(share(c, Share::bubble), (p - 1) * (f + b));
  }
}

}  // namespace
}  // namespace orrery::sim::test
