// Joining two traces of one schedule: a trace beside itself differs nowhere; where kernels of one block take
// longer, that block's row comes first and says by how much.
#include "sim/metrics/trace_join.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/metrics/simulated_trace.h"
#include "sim/metrics/trace_comparison.h"
#include "tests/schedule/small_trace.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

using testing::Gpt;
using testing::gpt;

struct Simulated {
  scenarios::Scenario scenario;
  Prediction prediction;
  schedule::Trace trace;  // of every rank
};

Simulated simulated() {
  Gpt g;
  g.gpus = 8;
  g.tp = 2;
  g.pp = 2;
  g.global_batch = 16;
  Simulated s{.scenario = gpt(g), .prediction = {}, .trace = {}};
  PredictOptions options = with_steady_trace({});
  options.simulation.fold = false;
  s.prediction = predict(s.scenario, options);
  s.trace = to_trace(s.scenario, s.prediction);
  return s;
}

TEST(TraceJoin, ATraceBesideItselfDiffersNowhere) {
  const Simulated s = simulated();
  const TraceJoin joined = join(s.prediction.schedule, s.trace, s.trace);
  std::int64_t count = 0;
  for (const JoinedOp& op : joined.ops) {
    EXPECT_EQ(op.adds_s, 0.0) << op.name;
    count += op.count;
  }
  std::int64_t ops = 0;
  for (std::int64_t rank = 0; rank < s.trace.world; ++rank)
    for (const schedule::TracedOp& op : schedule::traced_ops(s.prediction.schedule.program_of(rank)))
      ops += s.prediction.schedule.program_of(rank).ops[op.op].kind == schedule::OpKind::host_wait ? 0 : 1;
  EXPECT_EQ(count, ops) << "every op of every rank is in one row";
}

TEST(TraceJoin, RepresentativesStandForTheirRanks) {
  const Simulated s = simulated();
  const Prediction folded = predict(s.scenario, with_steady_trace({}));
  const schedule::Trace few = to_trace(s.scenario, folded);
  ASSERT_LT(few.ranks.size(), s.trace.ranks.size());
  for (const JoinedOp& op : join(s.prediction.schedule, few, s.trace).ops)
    EXPECT_EQ(op.adds_s, 0.0) << op.name;
}

// Every GEMM of one place takes 1 us longer, on all 8 ranks; in one of three steps, 100 us.
TEST(TraceJoin, TheRowThatAddsMostComesFirst) {
  const Simulated s = simulated();
  schedule::Trace slower = s.trace;
  const schedule::Schedule& schedule = s.prediction.schedule;
  std::string name;
  for (schedule::RankTrace& rank : slower.ranks) {
    const schedule::Program& program = schedule.program_of(rank.rank);
    const std::vector<schedule::TracedOp> ops = schedule::traced_ops(program);
    for (schedule::TraceRecord& r : rank.records) {
      const schedule::Op& op = program.ops[ops[r.op].op];
      const std::string of = schedule::op_name(program, ops[r.op].op);
      if (op.kind != schedule::OpKind::gemm || op.phase != schedule::Phase::forward) continue;
      if (name.empty()) name = of;
      if (of == name) r.end_ns += r.step == slower.first_step ? 100'000 : 1'000;
    }
  }
  const TraceJoin joined = join(schedule, s.trace, slower);
  const JoinedOp& worst = joined.ops.front();
  EXPECT_EQ(worst.name, name);
  EXPECT_EQ(worst.kind, schedule::OpKind::gemm);
  EXPECT_NE(worst.shape.find("tn "), std::string::npos) << worst.shape;
  EXPECT_NEAR(worst.second_s - worst.first_s, 1e-6, 1e-12) << "the median of the steps";
  EXPECT_NEAR(worst.adds_s, 1e-6 * static_cast<double>(worst.count) / 8.0, 1e-12);
  EXPECT_NEAR(worst.second_p90_s - worst.second_s, 0.8 * 99e-6, 1e-9);
  EXPECT_EQ(joined.ops[1].adds_s, 0.0);
}

TEST(TraceJoin, KindsAndGroupsAreSumsOfARank) {
  const Simulated s = simulated();
  const TraceJoin joined = join(s.prediction.schedule, s.trace, s.trace);
  double kinds = 0.0, ops = 0.0;
  for (const JoinedKind& kind : joined.kinds) kinds += kind.second_s;
  for (const JoinedOp& op : joined.ops) ops += op.second_s * static_cast<double>(op.count) / 8.0;
  EXPECT_NEAR(kinds, ops, 1e-12);
  const JoinedGroup& pipe = joined.groups[static_cast<std::size_t>(schedule::GroupKind::pipe)];
  EXPECT_EQ(pipe.first_s, pipe.second_s);
  EXPECT_GT(pipe.second_wait_s, 0.0) << "stages wait for each other";
  EXPECT_GT(joined.groups[static_cast<std::size_t>(schedule::GroupKind::tensor)].count, 0.0);
}

TEST(TraceComparison, ErrorsAndMemory) {
  const Simulated s = simulated();
  schedule::Trace measured = s.trace;
  measured.origin = schedule::TraceOrigin::measured;
  for (schedule::RankTrace& rank : measured.ranks) {
    for (schedule::TraceRecord& r : rank.records) r.ready_ns *= 2, r.begin_ns *= 2, r.end_ns *= 2;
    rank.arena_bytes = rank.peak_live_bytes + rank.peak_live_bytes / 4;
  }
  measured.ranks[3].peak_live_bytes += 512;
  const TraceComparison c = compare_traces(s.scenario, s.prediction.schedule, {"predicted", "", &s.trace},
                                           {"measured", "a.trace", &measured});
  EXPECT_TRUE(c.predicted);
  EXPECT_NEAR(c.error(c.first.metrics.step_time_s, c.second.metrics.step_time_s), -0.5, 1e-9);
  EXPECT_NEAR(c.first.tokens_per_s, 2.0 * c.second.tokens_per_s, 1e-6 * c.first.tokens_per_s);
  ASSERT_EQ(c.memory.size(), 8U);
  EXPECT_TRUE(c.memory[2].equal());
  EXPECT_FALSE(c.memory[3].equal());
  EXPECT_NEAR(c.memory[2].packing_loss(), 0.25, 1e-6);
  for (std::size_t i = 0; i < kShares; ++i)
    EXPECT_NEAR(c.first.metrics.shares.waterfall[i], c.second.metrics.shares.waterfall[i], 1e-9);
}

TEST(TraceComparison, TwoMeasurementsAreAChange) {
  const Simulated s = simulated();
  schedule::Trace a = s.trace;
  a.origin = schedule::TraceOrigin::measured;
  const TraceComparison c =
      compare_traces(s.scenario, s.prediction.schedule, {"first", "a", &a}, {"second", "b", &s.trace});
  EXPECT_FALSE(c.predicted);
  EXPECT_NEAR(c.error(2.0, 3.0), 0.5, 1e-12);
}

}  // namespace
}  // namespace orrery::sim
