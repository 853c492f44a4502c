// The numbers that are read off a trace's intervals. System: simulated traces, where the engine's own
// accounts say the same in another way; and a trace of a few intervals written by hand, where every share can
// be counted on the fingers.
#include "sim/metrics/trace_metrics.h"

#include <gtest/gtest.h>

#include <numeric>

#include "sim/metrics/simulated_trace.h"
#include "tests/schedule/small_trace.h"
#include "tests/schedule/two_stages.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

using schedule::testing::kTwoStages;
using schedule::testing::parsed_schedule;
using schedule::testing::two_stages_trace;
using testing::Gpt;
using testing::gpt;

struct Steady {
  Prediction prediction;
  schedule::Trace trace;
  TraceMetrics metrics;
};

Steady steady(scenarios::Scenario s, bool fold = true) {
  PredictOptions options = with_steady_trace({});
  options.simulation.fold = fold;
  Steady result;
  result.prediction = predict(s, options);
  result.trace = to_trace(s, result.prediction);
  result.metrics = trace_metrics(result.prediction.schedule, result.trace);
  return result;
}

Gpt tensor() {
  Gpt g;
  g.gpus = 8;
  g.tp = 4;
  g.sp = true;
  g.global_batch = 16;
  return g;
}
Gpt pipe() {
  Gpt g;
  g.gpus = 8;
  g.pp = 4;
  g.tp = 2;
  g.global_batch = 32;
  return g;
}
Gpt zero3() {
  Gpt g;
  g.gpus = 16;
  g.zero = 3;
  g.framework = "deepspeed";
  g.global_batch = 64;
  return g;
}

// Nanoseconds instead of picoseconds, so each interval may be wrong by two of them.
double rounding(const Steady& s) {
  double records = 0.0;
  for (const schedule::RankTrace& rank : s.trace.ranks)
    records = std::max(records, static_cast<double>(rank.records.size()));
  return 2e-9 * records / kSteadyTracedSteps / s.metrics.step_time_s;
}

// The engine's window and the trace's are both one step long, in a steady state.
void expect_engines_account(const scenarios::Scenario& scenario, bool issue_is_free) {
  const Steady s = steady(scenario);
  const Result& r = s.prediction.result;
  const double within = rounding(s);
  ASSERT_LT(within, 1e-3);
  EXPECT_NEAR(s.metrics.step_time_s / r.step_time_s.value, 1.0, within);
  const auto share = [&](Share which) {
    return r.waterfall_s[static_cast<std::size_t>(which)] / r.step_time_s.value;
  };
  const TimeShares& of = s.metrics.shares;
  for (std::size_t i = 0; i < kShares; ++i) {
    const auto which = static_cast<Share>(i);
    if (!issue_is_free && (which == Share::host || which == Share::wait || which == Share::bubble)) continue;
    EXPECT_NEAR(of.of(which), share(which), within) << scenario.parallel.pp << " stages, share " << i;
  }
  const double idle = share(Share::host) + share(Share::wait) + share(Share::bubble);
  EXPECT_NEAR(of.of(Share::host) + of.of(Share::wait) + of.of(Share::bubble), idle, within);
  EXPECT_NEAR(of.communication_any, r.communication_total, within);
  EXPECT_NEAR(of.exposed(), r.communication_exposed, within);
  for (std::size_t g = 0; g < 4; ++g) EXPECT_NEAR(of.communication[g], r.communication_by_group[g], within);
}

TEST(TraceMetrics, AreTheEnginesAccounts) {
  for (const Gpt& g : {Gpt{}, tensor(), pipe(), zero3()}) {
    scenarios::Scenario s = gpt(g);
    s.cluster.host_issue_cost = Duration();
    expect_engines_account(s, true);
  }
}

// A message or a host_wait that waits to be issued shows as idle time in a trace, which has no time of issue.
TEST(TraceMetrics, AreTheEnginesAccountsButForMessagesThatWaitToBeIssued) {
  for (const Gpt& g : {Gpt{}, tensor(), pipe(), zero3()}) {
    scenarios::Scenario s = gpt(g);
    s.cluster.host_issue_cost = Duration::from_us(60);
    expect_engines_account(s, false);
  }
  scenarios::Scenario alone = gpt({});
  alone.cluster.host_issue_cost = Duration::from_us(60);
  const Steady s = steady(alone);
  const Result& r = s.prediction.result;
  const double host = r.waterfall_s[static_cast<std::size_t>(Share::host)] / r.step_time_s.value;
  ASSERT_GT(host, 0.01);
  const double one_issue = 60e-6 / r.step_time_s.value;  // of the host_wait that reads the gradient norm
  EXPECT_NEAR(s.metrics.shares.of(Share::host), host, one_issue + rounding(s))
      << "without messages it is the host's";
}

TEST(TraceMetrics, SharesSumToOne) {
  for (const Gpt& g : {tensor(), pipe(), zero3()}) {
    const Steady s = steady(gpt(g));
    for (const RankShares& rank : s.metrics.ranks)
      EXPECT_NEAR(std::accumulate(rank.shares.waterfall.begin(), rank.shares.waterfall.end(), 0.0), 1.0,
                  1e-9);
  }
}

TEST(TraceMetrics, FoldedEqualsUnfolded) {
  const Steady folded = steady(gpt(pipe())), all = steady(gpt(pipe()), false);
  ASSERT_LT(folded.trace.ranks.size(), all.trace.ranks.size());
  EXPECT_DOUBLE_EQ(folded.metrics.step_time_s, all.metrics.step_time_s);
  for (std::size_t i = 0; i < kShares; ++i)
    EXPECT_NEAR(folded.metrics.shares.waterfall[i], all.metrics.shares.waterfall[i], 1e-12);
}

TEST(TraceMetrics, CountedByHand) {
  const schedule::Schedule s = parsed_schedule(kTwoStages);
  const TraceMetrics m = trace_metrics(s, two_stages_trace(s, 4));
  EXPECT_EQ(m.step_times_s.size(), 3U);
  EXPECT_NEAR(m.step_time_s, 100e-9, 1e-15);
  EXPECT_NEAR(m.last_step_span_s, (55e-9 + 30e-9) / 2, 1e-15) << "from its first kernel to its last op's end";
  const TimeShares &a = m.ranks[0].shares, &b = m.ranks[1].shares;
  EXPECT_NEAR(a.of(Share::compute), 0.40, 1e-12);
  EXPECT_NEAR(a.of(Share::exposed_pipe), 0.10, 1e-12);
  EXPECT_NEAR(a.of(Share::bubble), 0.05, 1e-12) << "ready at 40, the other side at 45";
  EXPECT_NEAR(a.of(Share::wait), 0.45, 1e-12);
  EXPECT_NEAR(b.of(Share::compute), 0.30, 1e-12);
  EXPECT_NEAR(b.of(Share::bubble), 0.20, 1e-12);
  EXPECT_NEAR(b.of(Share::host), 0.05, 1e-12) << "ready at 55, begun at 60, with nobody to wait for";
  EXPECT_NEAR(m.shares.of(Share::compute), 0.35, 1e-12);
  EXPECT_NEAR(m.shares.communication_any, 0.10, 1e-12);
  EXPECT_NEAR(m.shares.communication[static_cast<std::size_t>(schedule::GroupKind::pipe)], 0.10, 1e-12);
}

TEST(TraceMetrics, AHiddenTransferIsCommunicationButNotExposed) {
  const schedule::Schedule s = parsed_schedule(kTwoStages);
  schedule::Trace t = two_stages_trace(s, 4);
  for (schedule::TraceRecord& r : t.ranks[0].records)
    if (r.op == 0) r.end_ns += 10;  // computes on until 50, while it sends from 45 to 55
  const TimeShares shares = trace_metrics(s, t).ranks[0].shares;
  EXPECT_NEAR(shares.communication_any, 0.10, 1e-12);
  EXPECT_NEAR(shares.exposed(), 0.05, 1e-12);
  EXPECT_NEAR(shares.of(Share::compute), 0.50, 1e-12);
}

TEST(TraceMetrics, OneStepIsItsOwnSpan) {
  const schedule::Schedule s = parsed_schedule(kTwoStages);
  const TraceMetrics m = trace_metrics(s, two_stages_trace(s, 1));
  EXPECT_NEAR(m.step_time_s, m.last_step_span_s, 1e-15);
  EXPECT_NEAR(m.ranks[0].shares.of(Share::compute), 40.0 / 55.0, 1e-12);
}

TEST(TraceMetrics, ADisturbedStepDoesNotMoveTheMedian) {
  const schedule::Schedule s = parsed_schedule(kTwoStages);
  schedule::Trace t = two_stages_trace(s, 6);
  for (schedule::RankTrace& rank : t.ranks)
    for (schedule::TraceRecord& r : rank.records)
      if (r.step >= 3) r.ready_ns += 900, r.begin_ns += 900, r.end_ns += 900;
  EXPECT_NEAR(trace_metrics(s, t).step_time_s, 100e-9, 1e-15);
}

}  // namespace
}  // namespace orrery::sim
