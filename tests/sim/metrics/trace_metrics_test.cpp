// The numbers that are read off a trace's intervals. System: simulated traces, where the engine's own
// accounts say the same in another way; and a trace of a few intervals written by hand, where every share can
// be counted on the fingers.
#include "sim/metrics/trace_metrics.h"

#include <gtest/gtest.h>

#include <numeric>

#include "schedule/text.h"
#include "sim/metrics/simulated_trace.h"
#include "sim/metrics/trace_check.h"
#include "tests/schedule/small_trace.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

using schedule::testing::parsed_schedule;
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

// Two stages: the first computes 40 and sends for 10; the second waits for it, computes 30, and receives
// beside nothing.
constexpr const char* kTwoStages = R"(world 2
group world stride 1 size 2
group tensor stride 1 size 1
group data stride 1 size 1
group pipe stride 1 size 2
program first {
  buffer a bf16[4] persistent
  fill y=a record(a)
  send x:a to +1 on pipe_send_forward wait(a)
}
program second {
  buffer a bf16[4] persistent
  recv y=a from -1 on pipe_recv_forward record(a)
  add x:a y+=a wait(a)
}
)";

schedule::Trace by_hand(const schedule::Schedule& schedule, std::int32_t steps) {
  schedule::Trace t{
      .fingerprint = schedule::fingerprint(schedule), .world = 2, .first_step = 0, .steps = steps};
  t.ranks = {{.rank = 0}, {.rank = 1}};
  for (std::int32_t step = 0; step < steps; ++step) {
    const std::int64_t at = 100 * step;
    t.ranks[0].records.push_back({step, 0, at, at, at + 40});
    t.ranks[0].records.push_back({step, 1, at + 40, at + 45, at + 55});
    t.ranks[1].records.push_back({step, 0, at + 25, at + 45, at + 55});
    t.ranks[1].records.push_back({step, 1, at + 55, at + 60, at + 90});
  }
  return t;
}

TEST(TraceMetrics, CountedByHand) {
  const schedule::Schedule s = parsed_schedule(kTwoStages);
  const TraceMetrics m = trace_metrics(s, by_hand(s, 4));
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
  schedule::Trace t = by_hand(s, 4);
  for (schedule::TraceRecord& r : t.ranks[0].records)
    if (r.op == 0) r.end_ns += 10;  // computes on until 50, while it sends from 45 to 55
  const TimeShares shares = trace_metrics(s, t).ranks[0].shares;
  EXPECT_NEAR(shares.communication_any, 0.10, 1e-12);
  EXPECT_NEAR(shares.exposed(), 0.05, 1e-12);
  EXPECT_NEAR(shares.of(Share::compute), 0.50, 1e-12);
}

TEST(TraceMetrics, OneStepIsItsOwnSpan) {
  const schedule::Schedule s = parsed_schedule(kTwoStages);
  const TraceMetrics m = trace_metrics(s, by_hand(s, 1));
  EXPECT_NEAR(m.step_time_s, m.last_step_span_s, 1e-15);
  EXPECT_NEAR(m.ranks[0].shares.of(Share::compute), 40.0 / 55.0, 1e-12);
}

TEST(TraceMetrics, ADisturbedStepDoesNotMoveTheMedian) {
  const schedule::Schedule s = parsed_schedule(kTwoStages);
  schedule::Trace t = by_hand(s, 6);
  for (schedule::RankTrace& rank : t.ranks)
    for (schedule::TraceRecord& r : rank.records)
      if (r.step >= 3) r.ready_ns += 900, r.begin_ns += 900, r.end_ns += 900;
  EXPECT_NEAR(trace_metrics(s, t).step_time_s, 100e-9, 1e-15);
}

TEST(TraceCheck, OnlyWholeStepsCount) {
  const schedule::Schedule s = parsed_schedule(kTwoStages);
  schedule::Trace t = by_hand(s, 3);
  EXPECT_EQ(whole_steps(s, t), 3);
  t.ranks[1].records.pop_back();
  EXPECT_EQ(whole_steps(s, t), 2);
  t.ranks[0].records.erase(t.ranks[0].records.begin() + 2);
  EXPECT_EQ(whole_steps(s, t), 1);
  EXPECT_NO_THROW(require_whole_step(s, t, "a.trace"));
  t.ranks.pop_back();
  EXPECT_EQ(whole_steps(s, t), 0) << "a rank is lost";
  t.complete = false;
  EXPECT_THROW(require_whole_step(s, t, "a.trace"), InputError);
}

std::string refusal(const schedule::Schedule& s, const schedule::Trace& t) {
  try {
    require_trace_of(s, t, "a.trace", "b.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(TraceCheck, SaysWhatDiffers) {
  const schedule::Schedule s = parsed_schedule(kTwoStages);
  const schedule::Trace own = by_hand(s, 1);
  EXPECT_EQ(refusal(s, own), "");
  schedule::Trace other = own;
  other.fingerprint += 1;
  EXPECT_NE(refusal(s, other).find("a.trace: error: this trace is of another schedule than b.json"),
            std::string::npos);
  EXPECT_NE(refusal(s, other).find("name, ranks and ops of a step are the same"), std::string::npos);
  other.scenario = "another";
  other.world = 4;
  other.scenario_path = "c.json";
  EXPECT_NE(refusal(s, other).find("scenario: another in the trace"), std::string::npos);
  EXPECT_NE(refusal(s, other).find("ranks: 4 in the trace, 2 in b.json"), std::string::npos);
  EXPECT_NE(refusal(s, other).find("made from c.json"), std::string::npos);
  schedule::Trace longer = own;
  longer.ranks[1].records.push_back({0, 2, 200, 200, 201});
  EXPECT_NE(refusal(s, longer).find("rank 1 has a record of op 2 in step 0, and only 2 ops"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery::sim
