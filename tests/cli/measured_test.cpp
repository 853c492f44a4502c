// `compare --measured`: a trace beside what is predicted. The measured traces are simulated ones: that of the
// very scenario, which differs nowhere, and ones whose times were stretched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "schedule/trace_file.h"
#include "tests/cli/program.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kScenario = "scenarios/quickstart.json";

class Measured : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run({"run", kScenario, "--save-trace", own}).code, 0);
    schedule::Trace trace = schedule::read_trace(own);
    trace.origin = schedule::TraceOrigin::measured;
    trace.machine = "a slow machine";
    for (schedule::RankTrace& rank : trace.ranks) {
      for (schedule::TraceRecord& r : rank.records) r.ready_ns *= 2, r.begin_ns *= 2, r.end_ns *= 2;
      rank.arena_bytes = rank.peak_live_bytes + 1'000'000;
    }
    schedule::write_trace(slow, trace);
  }
  Scratch scratch;
  const std::string own = scratch.path("own.trace"), slow = scratch.path("slow.trace");
};

Json json_of(const std::vector<std::string>& arguments) {
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.code, 0) << ran.err;
  Diagnostics diagnostics;
  Json json = parse_json(std::make_shared<SourceFile>(SourceFile{"stdout", ran.out}), diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.text();
  return json;
}

const Json& at(const Json& json, const std::vector<std::string>& keys) {
  static const Json kNone;
  const Json* found = &json;
  for (const std::string& key : keys) {
    found = found->find(key);
    EXPECT_NE(found, nullptr) << key;
    if (found == nullptr) return kNone;
  }
  return *found;
}

// What the prediction rests on is said as `run` says it; nothing is predicted of two measurements.
TEST_F(Measured, WarningsOfThePredictionAreSaid) {
  constexpr const char* kCpu = "scenarios/cpu/gpt-dp2.json";
  const std::string trace = scratch.path("cpu.trace");
  const Ran ran = run({"run", kCpu, "--save-trace", trace});
  const std::size_t warnings = ran.out.find("\nWarnings\n"), rests = ran.out.find("\nWhat this rests on");
  ASSERT_NE(warnings, std::string::npos) << "it was never calibrated";
  const std::string said = ran.out.substr(warnings, rests - warnings);
  EXPECT_THAT(run({"compare", "--measured", trace, kCpu}).out, testing::EndsWith(said));
  EXPECT_THAT(run({"compare", "--measured", trace, kCpu, "--json"}).err, HasSubstr(said));
  EXPECT_THAT(run({"compare", "--measured", trace, "--measured", trace, kCpu}).out, testing::Not(HasSubstr("Warnings")));
}

TEST_F(Measured, TheScenarioOfTheTraceNeedNotBeNamed) {
  EXPECT_EQ(run({"compare", "--measured", slow}).out, run({"compare", "--measured", slow, kScenario}).out);
  EXPECT_EQ(run({"compare", "--measured", own, "--measured", slow}).out,
            run({"compare", "--measured", own, "--measured", slow, kScenario}).out);
  schedule::Trace trace = schedule::read_trace(own);
  trace.scenario_path = "gone.json";
  schedule::write_trace(own, trace);
  const Ran gone = run({"compare", "--measured", own});
  EXPECT_EQ(gone.code, 2);
  EXPECT_THAT(gone.err, HasSubstr("is of the scenario gone.json, which is not there"));
}

TEST_F(Measured, ATraceOfTheScenarioDiffersNowhere) {
  const Json json = json_of({"compare", "--measured", own, kScenario, "--json"});
  EXPECT_EQ(at(json, {"schema_version"}).integer, 1);
  EXPECT_EQ(at(json, {"error", "step_time"}).number, 0.0);
  EXPECT_TRUE(at(json, {"memory", "equal"}).boolean);
  for (const Json& op : at(json, {"ops"}).items) EXPECT_EQ(at(op, {"adds_s"}).number, 0.0);
  EXPECT_EQ(at(json, {"memory", "per_rank"}).items.size(), 8U);
}

TEST_F(Measured, PredictedBesideMeasured) {
  const Ran ran = run({"compare", "--measured", slow, kScenario});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, StartsWith("GPT-2 124M on one DGX A100, 8 ranks\n"));
  EXPECT_THAT(ran.out, HasSubstr("a slow machine, 3 steps from step 1"));
  EXPECT_THAT(ran.out, HasSubstr("-50.0 %"));
  EXPECT_THAT(ran.out, HasSubstr("peak live bytes are equal on every rank"));
  EXPECT_THAT(ran.out, HasSubstr("packing them into one arena takes at most"));
  EXPECT_THAT(ran.out, HasSubstr("Ops that make the difference"));
  const Json json = json_of({"compare", "--measured", slow, kScenario, "--json"});
  EXPECT_NEAR(at(json, {"error", "step_time"}).number, -0.5, 1e-6);
  EXPECT_NEAR(at(json, {"predicted", "comm", "total_fraction"}).number,
              at(json, {"measured", "comm", "total_fraction"}).number, 1e-5);
}

TEST_F(Measured, TwoMeasurementsBesideEachOther) {
  const Json json = json_of({"compare", "--measured", own, "--measured", slow, kScenario, "--json"});
  EXPECT_NEAR(at(json, {"change", "step_time"}).number, 1.0, 1e-6);
  EXPECT_GT(at(json, {"ops"}).items.front().find("adds_s")->number, 0.0);
  EXPECT_EQ(at(json, {"first", "trace"}).string, own);
  EXPECT_THAT(run({"compare", "--measured", own, "--measured", slow, kScenario}).out, HasSubstr("+100.0 %"));
}

TEST_F(Measured, TheOpsAsATable) {
  const Ran ran = run({"compare", "--measured", slow, kScenario, "--csv"});
  EXPECT_THAT(
      ran.out,
      StartsWith("op,kind,group,shape,count,predicted_s,measured_s,measured_p10_s,measured_p90_s,adds_s\n"));
  EXPECT_THAT(ran.out, HasSubstr("\nlayer.forward.1,gemm,,tn 16384x2304x768,384,"));
  EXPECT_THAT(ran.out, HasSubstr(",all_reduce,dp,"));
}

TEST_F(Measured, BothInOneFileForPerfetto) {
  const std::string file = scratch.path("both.json");
  ASSERT_EQ(run({"compare", "--measured", slow, kScenario, "--trace", file}).code, 0);
  const std::string text = slurp(file);
  for (const char* name : {"rank 0 predicted", "rank 0 measured", "rank 7 predicted", "rank 7 measured"})
    EXPECT_THAT(text, HasSubstr(name));
  Diagnostics diagnostics;
  EXPECT_TRUE(
      parse_json(std::make_shared<SourceFile>(SourceFile{"both.json", text}), diagnostics).is_object())
      << diagnostics.text();
}

TEST_F(Measured, WhatDoesNotBelongTogetherIsRefused) {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& why) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << why;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(why));
  };
  refused({"compare", "--measured", own, "scenarios/7b-8gpu.json"},
          "this trace is of another schedule than scenarios/7b");
  refused({"compare", "--measured", own, "scenarios/7b-8gpu.json"},
          "the trace was made from scenarios/quickstart.json");
  refused({"compare", "--measured", own, kScenario, "--set", "training.seed=7"}, "another schedule");
  refused({"compare", "--measured", own, kScenario, kScenario}, "--measured takes one scenario");
  refused({"compare", "--measured", own, "--measured", own, "--measured", own, kScenario},
          "stands once or twice");
  refused({"compare", "--measured", scratch.path("none.trace"), kScenario}, "no such file");
  refused({"compare", "--measured", kScenario, kScenario}, "\"schema\" in the trace is required");
  refused({"compare", kScenario, "--trace", "x.json"}, "--trace");
  refused({"compare", "--measured", own, kScenario, "--require-fit"}, "--require-fit");
  refused({"compare", "--measured", own, kScenario, "--trace", own}, "would overwrite");
  refused({"run", kScenario, kScenario, "--save-trace", own}, "--save-trace takes one scenario");
  const std::string cut = scratch.file("cut.trace", slurp(own).substr(0, 2000));
  refused({"compare", "--measured", cut, kScenario}, "cut.trace:");
}

TEST_F(Measured, AStoppedRunIsComparedAsFarAsItCame) {
  schedule::Trace trace = schedule::read_trace(slow);
  trace.complete = false;
  for (schedule::RankTrace& rank : trace.ranks) rank.records.pop_back();
  const std::string stopped = scratch.path("stopped.trace");
  schedule::write_trace(stopped, trace);
  EXPECT_THAT(run({"compare", "--measured", stopped, kScenario}).out,
              HasSubstr("2 steps from step 1; the run"));
  for (schedule::RankTrace& rank : trace.ranks) rank.records.resize(3);
  schedule::write_trace(stopped, trace);
  const Ran nothing = run({"compare", "--measured", stopped, kScenario});
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("the run was stopped before its first kept step ended"));
}

TEST(SavedTrace, IsWrittenWholeOrNotAtAll) {
  const Ran ran = run({"run", kScenario, "--save-trace", "/no/such/directory/a.trace"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("/no/such/directory/a.trace"));
}

}  // namespace
}  // namespace orrery::cli
