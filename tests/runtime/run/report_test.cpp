// What is printed of a run, from traces made by hand.
#include "runtime/run/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "schedule/trace_steps.h"
#include "tests/runtime/run/small_run.h"

namespace orrery::runtime {
namespace {

using testing::HasSubstr;
using testing::Not;

// Steps of 2, 4 and 3 ms: every op of a step is 1 us long, the first begins with the step.
schedule::Trace trace_of(const SmallRun& small) {
  schedule::Trace trace;
  trace.origin = schedule::TraceOrigin::measured;
  trace.world = small.schedule.world;
  trace.steps = 4;
  trace.losses = {4.0, 3.0, 2.0, 1.5};
  constexpr std::int64_t kBegins[] = {0, 2'000'000, 6'000'000, 9'000'000};
  for (std::int64_t rank = 0; rank < trace.world; ++rank) {
    schedule::RankTrace& r = trace.ranks.emplace_back();
    r.rank = rank;
    r.peak_live_bytes = (1 + rank) << 20;
    r.arena_bytes = (2 + rank) << 20;
    const auto ops = static_cast<std::uint32_t>(plan_step(small.schedule, rank).ops.size());
    for (std::int32_t step = 0; step < trace.steps; ++step)
      for (std::uint32_t op = 0; op < ops; ++op) r.records.push_back({step, op, kBegins[step], kBegins[step], kBegins[step] + 1000});
  }
  return trace;
}

TEST(Report, OfAWholeRun) {
  const scenarios::Scenario scenario = two_stages();
  const SmallRun small(scenario);
  const schedule::Trace trace = trace_of(small);
  EXPECT_THAT(schedule::step_times(small.schedule, trace).seconds, testing::ElementsAre(2e-3, 4e-3, 3e-3));
  const std::string text = run_summary({scenario, small.schedule, trace, 0.25});
  EXPECT_THAT(text, HasSubstr("loss            4.00000 -> 1.50000 over 4 steps   (this data's floor: 0.25000)\n"));
  EXPECT_THAT(text, HasSubstr("step time       3.000 ms   (median of 3;"));
  EXPECT_THAT(text, HasSubstr("memory          2.00 MiB live at the peak of the worst rank; its arena 3.00 MiB\n"));
  EXPECT_THAT(text, Not(HasSubstr("stopped early")));
  const auto json = nlohmann::json::parse(run_json({scenario, small.schedule, trace, 0.25}));
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["losses"].size(), 4U);
  EXPECT_EQ(json["loss_floor"], 0.25);
  EXPECT_EQ(json["steps_measured"], 3);
  EXPECT_DOUBLE_EQ(json["step_time_s"]["median"].get<double>(), 3e-3);
  const double tokens = static_cast<double>(scenario.training.global_batch * scenario.training.sequence_length);
  EXPECT_DOUBLE_EQ(json["tokens_per_s"].get<double>(), tokens / 3e-3);
  EXPECT_EQ(json["memory"]["peak_live_bytes"], 2 << 20);
  EXPECT_EQ(json["memory"]["arena_bytes"], 3 << 20);
}

TEST(Report, OfARunThatWasStoppedBeforeAnyStepWasMeasured) {
  const scenarios::Scenario scenario = two_stages();
  const SmallRun small(scenario);
  schedule::Trace trace;
  trace.origin = schedule::TraceOrigin::measured;
  trace.world = 2;
  trace.ranks.resize(2);
  trace.complete = false;
  EXPECT_EQ(run_summary({scenario, small.schedule, trace, 0.0}),
            "the run was stopped early, before its first step had ended\n");
  const auto json = nlohmann::json::parse(run_json({scenario, small.schedule, trace, 0.0}));
  EXPECT_EQ(json["steps_measured"], 0);
  EXPECT_FALSE(json.contains("step_time_s"));
  EXPECT_FALSE(json.contains("loss_floor"));
}

TEST(Report, AStepsLine) {
  EXPECT_EQ(step_line(7, 1.5, 0.25, 512.0), "step     7  loss   1.50000     250.00 ms        2048 tokens/s\n");
  EXPECT_EQ(step_line(0, 1.5, 0.0, 512.0), "step     0  loss   1.50000\n") << "the first has no time";
  EXPECT_EQ(step_line(0, -std::numeric_limits<double>::quiet_NaN(), 0.0, 512.0), "step     0  loss       nan\n");
  EXPECT_EQ(step_line(3, std::nullopt, 0.25, 512.0), "step     3     250.00 ms        2048 tokens/s\n") << "emulated";
}

TEST(Report, AnEmulatedRunHasNoLoss) {
  const scenarios::Scenario scenario = two_stages();
  const SmallRun small(scenario);
  schedule::Trace trace = trace_of(small);
  trace.origin = schedule::TraceOrigin::emulated;
  EXPECT_THAT(run_summary({scenario, small.schedule, trace, 0.25}), Not(HasSubstr("loss")));
  EXPECT_FALSE(nlohmann::json::parse(run_json({scenario, small.schedule, trace, 0.25})).contains("losses"));
}

TEST(Report, TheHeadingSaysWhatIsPerformedOnWhat) {
  scenarios::Scenario scenario = two_stages();
  scenario.name = "Tiny";
  const std::string alone = run_heading(scenario, "threads", 2);
  EXPECT_THAT(alone, testing::StartsWith("Tiny: PP2, 2 ranks (threads) on 2 cores, "));
  EXPECT_THAT(alone, testing::EndsWith(" parameters\n"));
  EXPECT_THAT(run_heading(scenario, "threads", 1), HasSubstr("note: 2 ranks take turns on 1 core;"));
}

}  // namespace
}  // namespace orrery::runtime
