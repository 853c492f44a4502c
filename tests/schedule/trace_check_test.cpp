// Which traces are refused for a schedule, which steps count, and how long they took. System: two stages whose times can be
// counted on the fingers.
#include "schedule/trace_check.h"

#include <gtest/gtest.h>

#include "base/diagnostics.h"
#include "schedule/trace_steps.h"
#include "tests/schedule/small_trace.h"
#include "tests/schedule/two_stages.h"

namespace orrery::schedule {
namespace {

using testing::kTwoStages;
using testing::parsed_schedule;
using testing::two_stages_trace;

TEST(TraceCheck, OnlyWholeStepsCount) {
  const Schedule s = parsed_schedule(kTwoStages);
  Trace t = two_stages_trace(s, 3);
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

std::string refusal(const Schedule& s, const Trace& t) {
  try {
    require_trace_of(s, t, "a.trace", "b.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(TraceCheck, SaysWhatDiffers) {
  const Schedule s = parsed_schedule(kTwoStages);
  const Trace own = two_stages_trace(s, 1);
  EXPECT_EQ(refusal(s, own), "");
  Trace other = own;
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
  Trace longer = own;
  longer.ranks[1].records.push_back({0, 2, 200, 200, 201});
  EXPECT_NE(refusal(s, longer).find("rank 1 has a record of op 2 in step 0, and only 2 ops"),
            std::string::npos);
  Trace folded = own;
  folded.representative = {0, 0};
  EXPECT_NE(refusal(s, folded).find("rank 0 cannot stand for rank 1, whose program is another"),
            std::string::npos);
}

// From the first op of the compute stream to the next step's: 100 on both ranks; the last: 55 and 30.
TEST(StepTimes, AreFromFirstOpToFirstOpAndTheLastIsApart) {
  const Schedule s = parsed_schedule(kTwoStages);
  const StepTimes four = step_times(s, two_stages_trace(s, 4));
  ASSERT_EQ(four.seconds.size(), 3U);
  for (const double seconds : four.seconds) EXPECT_NEAR(seconds, 100e-9, 1e-15);
  EXPECT_NEAR(four.last_span_s, (55e-9 + 30e-9) / 2, 1e-15);
  const StepTimes one = step_times(s, two_stages_trace(s, 1));
  ASSERT_EQ(one.seconds.size(), 1U);
  EXPECT_EQ(one.seconds[0], one.last_span_s);
}

TEST(StepTimes, OfAStoppedRunAreOfItsWholeSteps) {
  const Schedule s = parsed_schedule(kTwoStages);
  Trace t = two_stages_trace(s, 4);
  t.ranks[1].records.pop_back();
  EXPECT_EQ(step_times(s, t).seconds.size(), 2U);
  t.ranks[1].records.resize(1);
  EXPECT_TRUE(step_times(s, t).seconds.empty());
  EXPECT_TRUE(step_times(s, Trace{.world = 2}).seconds.empty());
}

}  // namespace
}  // namespace orrery::schedule
