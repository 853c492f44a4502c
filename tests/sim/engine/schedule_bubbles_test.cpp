// The compiled pipeline schedules against their papers' formulas: a layer's F, B and W take given times, everything
// else, messages too, takes none, and one stage is one layer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "schedule/compile.h"
#include "schedule/verify.h"
#include "sim/engine/simulation.h"
#include "tests/schedule/small_scenarios.h"
#include "tests/sim/engine/small_schedule.h"

namespace orrery::sim::test {
namespace {

using scenarios::PipelineSchedule;

struct Times {
  std::int64_t f = 1000, b = 1000, w = 1000;  // b: the input's gradient alone
};

// The first op of a block takes the block's time.
class BlockCost : public KernelCost {
 public:
  explicit BlockCost(const Times& times) : times_(times) {}
  KernelTime time(const schedule::Program& program, const schedule::Op& op,
                  const schedule::KernelShape&) const override {
    const schedule::Block& block = program.block_of(op);
    if (&op != program.ops.data() + block.first_op) return {};
    std::int64_t ps = 0;
    if (block.name.starts_with("layer.forward")) ps = times_.f;
    if (block.name == "layer.weight_gradients") ps = times_.w;
    if (block.name == "layer.backward") ps = times_.b + (splits(program) ? 0 : times_.w);
    return {.time = Duration::from_ps(ps), .origin = Origin::exact};
  }

 private:
  static bool splits(const schedule::Program& program) {
    for (const schedule::Block& block : program.blocks)
      if (block.name == "layer.weight_gradients") return true;
    return false;
  }
  Times times_;
};

std::int64_t chunks_of(PipelineSchedule schedule) {
  return scenarios::traits(schedule).chunks == scenarios::Chunks::one ? 1 : 2;
}

schedule::Schedule compiled(PipelineSchedule schedule, std::int64_t p, std::int64_t m) {
  const std::int64_t chunks = chunks_of(schedule);
  scenarios::Scenario s = schedule::small_scenario(schedule::llama_style(p * chunks),
                                                   {.pp = p, .vpp = chunks, .microbatches = m, .schedule = schedule});
  s.overlap.pipeline = true;
  s.training.clip_gradient_norm = 0.0;  // the norm would join the ranks at the end of the step
  return schedule::compile(s);
}

SimulationResult run(PipelineSchedule schedule, std::int64_t p, std::int64_t m, const Times& times,
                     const SimulationOptions& options = {}) {
  const schedule::Schedule s = compiled(schedule, p, m);
  const MachineShape machine{.world = p, .ps_per_byte = 0};
  return simulate(s, small_cluster(), BlockCost(times), SmallNetwork(machine), options);
}

std::int64_t bubble(PipelineSchedule schedule, std::int64_t p, std::int64_t m, const Times& t) {
  const std::int64_t chunks = chunks_of(schedule);
  return run(schedule, p, m, t).step_time.ps() - m * chunks * (t.f + t.b + t.w);
}

// Narayanan et al. 2021, section 2.2: (p - 1)(F + whole backward).
TEST(ScheduleBubbles, OneForwardOneBackward) {
  for (const std::int64_t p : {2, 3, 4, 8})
    for (const std::int64_t m : {1, 3, 8, 20}) {
      EXPECT_EQ(bubble(PipelineSchedule::one_f_one_b, p, m, {}), (p - 1) * 3000) << p << " " << m;
      EXPECT_EQ(bubble(PipelineSchedule::gpipe, p, m, {}), (p - 1) * 3000) << p << " " << m;
    }
}

// Lamy-Poirier 2023, section 4: as interleaved, (p - 1) / v of F + whole backward, here of a chunk; with p microbatches or
// more.
TEST(ScheduleBubbles, BreadthFirst) {
  for (const std::int64_t p : {2, 3, 4, 8})
    for (const std::int64_t m : {p, 2 * p, 2 * p + 1})
      EXPECT_EQ(bubble(PipelineSchedule::breadth_first, p, m, {}), (p - 1) * 3000) << p << " " << m;
}

// Qi et al. 2023, table 2: (p - 1)(F + B - W).
TEST(ScheduleBubbles, ZeroBubbleH1) {
  for (const std::int64_t p : {2, 3, 4, 8})
    for (const std::int64_t m : {p, 2 * p, 3 * p + 1})
      for (const Times& t : {Times{}, Times{1000, 1100, 900}, Times{1000, 1300, 800}})
        EXPECT_EQ(bubble(PipelineSchedule::zero_bubble_h1, p, m, t), (p - 1) * (t.f + t.b - t.w)) << p << " " << m;
}

// Qi et al. 2023, table 2: (p - 1)(F + B - 2 W), so none where F = B = W.
TEST(ScheduleBubbles, ZeroBubbleH2) {
  for (const std::int64_t p : {2, 3, 4, 8})
    for (const std::int64_t m : {2 * p - 1, 2 * p, 3 * p + 1})
      for (const Times& t : {Times{}, Times{1000, 1100, 900}, Times{1200, 1100, 1000}})
        EXPECT_EQ(bubble(PipelineSchedule::zero_bubble_h2, p, m, t), (p - 1) * (t.f + t.b - 2 * t.w)) << p << " " << m;
}

// Qi et al. 2023, section 6: none where a chunk's F = B = W.
TEST(ScheduleBubbles, ZeroBubbleV) {
  for (const std::int64_t p : {2, 3, 4, 8})
    for (const std::int64_t m : {2 * p - 1, 2 * p, 3 * p + 1})
      EXPECT_EQ(bubble(PipelineSchedule::zero_bubble_v, p, m, {}), 0) << p << " " << m;
}

// DeepSeek-V3 report, table 2: (p / 2 - 1)(F&B + whole backward - 3 W), of half as many ranks where folded.
TEST(ScheduleBubbles, DualPipe) {
  for (const Times& t : {Times{}, Times{1000, 1100, 900}, Times{1000, 1300, 800}}) {
    const std::int64_t both = t.f + t.b + t.w, slot = both + t.b - 2 * t.w;
    for (const std::int64_t p : {2, 4, 8})
      for (const std::int64_t m : {2 * p, 20L})
        if (m >= 2 * p) {
          EXPECT_EQ(bubble(PipelineSchedule::dual_pipe, p, m, t), (p / 2 - 1) * slot) << p << " " << m;
          EXPECT_EQ(bubble(PipelineSchedule::dual_pipe_v, p, m, t), (p - 1) * slot) << p << " " << m;
        }
  }
}

// Published examples with F = B = W: p = 8 and m = 20, p = 4 and m = 8.
TEST(ScheduleBubbles, PublishedExamples) {
  EXPECT_EQ(bubble(PipelineSchedule::one_f_one_b, 8, 20, {}), 21'000);
  EXPECT_EQ(bubble(PipelineSchedule::zero_bubble_h1, 8, 20, {}), 7'000);
  EXPECT_EQ(bubble(PipelineSchedule::dual_pipe, 8, 20, {}), 6'000);
  EXPECT_EQ(run(PipelineSchedule::one_f_one_b, 4, 8, {}).step_time.ps(), 33'000);     // 8 / 11 busy
  EXPECT_EQ(run(PipelineSchedule::zero_bubble_h1, 4, 8, {}).step_time.ps(), 27'000);  // 24 / 27 busy
}

// The steady state of split backwards is periodic too: what is extrapolated is what the full run gives.
TEST(ScheduleBubbles, ExtrapolatedIsTheFullRun) {
  for (const PipelineSchedule schedule :
       {PipelineSchedule::zero_bubble_h1, PipelineSchedule::zero_bubble_h2, PipelineSchedule::zero_bubble_2p,
        PipelineSchedule::zero_bubble_v, PipelineSchedule::dual_pipe, PipelineSchedule::dual_pipe_v})
    for (const std::int64_t m : {128, 130}) {
      const Times t{1000, 1100, 900};
      const SimulationResult fast = run(schedule, 4, m, t), full = run(schedule, 4, m, t, {.extrapolate = false});
      EXPECT_EQ(fast.step_time, full.step_time);
      EXPECT_LT(fast.microbatches_simulated, m);
      for (std::size_t c = 0; c < full.classes.size(); ++c) EXPECT_EQ(fast.classes[c].waterfall, full.classes[c].waterfall);
    }
}

TEST(ScheduleBubbles, VeryManyMicrobatchesAreNotSimulated) {
  for (const PipelineSchedule schedule :
       {PipelineSchedule::one_f_one_b, PipelineSchedule::zero_bubble_h1, PipelineSchedule::zero_bubble_h2,
        PipelineSchedule::zero_bubble_1p, PipelineSchedule::zero_bubble_v, PipelineSchedule::dual_pipe}) {
    const SimulationResult r = run(schedule, 4, 32'768, {});
    EXPECT_LT(r.microbatches_simulated, 200) << static_cast<int>(schedule);
    EXPECT_TRUE(r.exact);
  }
}

}  // namespace
}  // namespace orrery::sim::test
