// `--emulate`: kernels that are waits as long as in a trace, and messages that are real. A wait never ends early, so the
// shortest that an op may have taken is known; how late it ends is the machine's business. Which traces and options
// are refused is asked through the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "base/diagnostics.h"
#include "runtime/run/command_line.h"
#include "scenarios/load.h"
#include "schedule/compile.h"
#include "schedule/trace_file.h"
#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/tiny_models.h"
#include "tests/runtime/run/plan_outcome.h"
#include "tests/schedule/small_trace.h"

namespace orrery::runtime {
namespace {

using schedule::testing::made_up_trace;
using testing::HasSubstr;

scenarios::Scenario tiny(std::int64_t tp, std::int64_t pp) {
  scenarios::Scenario s = interpreter::plain_scenario(interpreter::tiny_llama());
  s.parallel.tp = tp;
  s.parallel.pp = pp;
  interpreter::resolve(s);
  return s;
}

// Each kernel of each rank against the rank that it takes its times from.
void expect_waits(const schedule::Schedule& s, const schedule::Trace& asked, const schedule::Trace& took) {
  EXPECT_EQ(took.origin, schedule::TraceOrigin::emulated);
  ASSERT_EQ(took.ranks.size(), static_cast<std::size_t>(s.world));
  for (const schedule::RankTrace& rank : took.ranks) {
    const std::int64_t whose = asked.representative.empty() ? rank.rank : asked.representative[static_cast<std::size_t>(rank.rank)];
    const std::vector<schedule::TraceRecord>& wanted = asked.ranks[static_cast<std::size_t>(whose)].records;
    const schedule::Program& program = s.program_of(rank.rank);
    const std::vector<schedule::TracedOp> ops = schedule::traced_ops(program);
    ASSERT_EQ(rank.records.size(), 2 * ops.size());
    for (const schedule::TraceRecord& r : rank.records) {
      if (!schedule::is_compute(program.ops[ops[r.op].op].kind)) continue;
      EXPECT_GE(r.end_ns - r.begin_ns, wanted[r.op].end_ns - wanted[r.op].begin_ns) << rank.rank << " " << r.op;
    }
  }
}

TEST(Emulated, KernelsLastAsLongAsInTheTrace) {
  const scenarios::Scenario scenario = tiny(1, 2);
  const schedule::Schedule s = schedule::compile(scenario);
  const schedule::Trace asked = made_up_trace(s, 3, 2, 5);
  RunOptions options;
  options.steps = 2;
  options.emulate = &asked;
  expect_waits(s, asked, perform(scenario, options).trace);
}

TEST(Emulated, ARankMayStandForOthers) {
  const scenarios::Scenario scenario = tiny(2, 1);
  const schedule::Schedule s = schedule::compile(scenario);
  schedule::Trace asked = made_up_trace(s, 0, 1, 6);
  asked.ranks.resize(1);
  asked.representative = {0, 0};
  RunOptions options;
  options.steps = 2;
  options.emulate = &asked;
  expect_waits(s, asked, perform(scenario, options).trace);
}

std::string refusal(std::vector<std::string> words) {
  words.insert(words.begin(), "orrery-rt");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  try {
    run_command_line(static_cast<int>(arguments.size()), arguments.data());
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

constexpr const char* kScenario = "scenarios/cpu/llama-pp2.json";

class EmulatedTrace : public testing::Test {
 protected:
  EmulatedTrace()
      : path_((std::filesystem::temp_directory_path() / ("orrery-emulated-" + std::to_string(::getpid()) + ".trace")).string()),
        trace_(made_up_trace(schedule::compile(scenarios::load_scenarios({kScenario}, {}).front()), 0, 1, 1)) {}
  ~EmulatedTrace() override { std::filesystem::remove(path_); }
  std::string refusal_of_it() const {
    schedule::write_trace(path_, trace_);
    return refusal({kScenario, "--backend", "threads", "--emulate", path_});
  }
  const std::string path_;
  schedule::Trace trace_;
};

TEST_F(EmulatedTrace, OfAnotherScheduleIsRefused) {
  trace_.fingerprint += 1;
  EXPECT_THAT(refusal_of_it(), HasSubstr(path_ + ": error: this trace is of another schedule than " + kScenario));
}

TEST_F(EmulatedTrace, WithOpsThatTheRankHasNotIsRefused) {
  schedule::TraceRecord last = trace_.ranks[0].records.back();
  last.op = std::numeric_limits<std::uint32_t>::max();
  trace_.ranks[0].records.push_back(last);
  EXPECT_THAT(refusal_of_it(), HasSubstr("rank 0 has a record of op 4294967295 in step 0"));
}

TEST_F(EmulatedTrace, OfASmallerWorldIsRefused) {
  trace_.world = 1;
  trace_.ranks.resize(1);
  trace_.representative = {0};
  EXPECT_THAT(refusal_of_it(), HasSubstr("another schedule"));
}

TEST_F(EmulatedTrace, WithoutAWholeStepIsRefused) {
  trace_.ranks[1].records.pop_back();
  EXPECT_THAT(refusal_of_it(), HasSubstr("no step of this trace has a record of every op of every rank"));
}

TEST_F(EmulatedTrace, OfARankForAnotherProgramIsRefused) {
  trace_.ranks.resize(1);
  trace_.representative = {0, 0};
  EXPECT_THAT(refusal_of_it(), HasSubstr("cannot stand for rank 1"));
}

TEST(RuntimeOptions, ThatWouldBeIgnoredAreRefused) {
  EXPECT_THAT(refusal({kScenario, "--keep", "3"}), HasSubstr("--keep needs --save"));
  EXPECT_THAT(refusal({kScenario, "--every", "3"}), HasSubstr("--every needs --save"));
  EXPECT_THAT(refusal({kScenario, "--emulate", "x.trace", "--double"}), HasSubstr("--double says nothing"));
  EXPECT_THAT(refusal({kScenario, "--emulate", "x.trace", "--save", "x"}), HasSubstr("trains nothing"));
  EXPECT_THAT(refusal({kScenario, "--steps", "2", "--discard", "2"}), HasSubstr("leaves none of 2 steps"));
}

TEST(RuntimeOptions, APlanWhoseCopiesDriftIsNotTrained) {
  EXPECT_THAT(refusal({"scenarios/cpu/gpt-3d.json", "--set", "compression.top_k=0.1"}), HasSubstr("these copies would drift apart"));
}

}  // namespace
}  // namespace orrery::runtime
