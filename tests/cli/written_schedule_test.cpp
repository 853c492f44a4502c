// A schedule that somebody wrote, in place of a scenario's own: checked, simulated, performed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/cli/program.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kScenario = "scenarios/cpu/llama-pp2.json";
// Megatron-LM, which the scenario names, has no such schedule.
const std::vector<std::string> kZeroBubble = {"--set", "framework=orrery", "--set", "parallel.schedule=zb-h1"};

Json json_of(std::vector<std::string> arguments, const std::vector<std::string>& more = {}) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.code, 0) << ran.err;
  Diagnostics diagnostics;
  return parse_json(std::make_shared<SourceFile>(SourceFile{"stdout", ran.out}), diagnostics);
}

class WrittenSchedule : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> print = {"schedule", kScenario};
    print.insert(print.end(), kZeroBubble.begin(), kZeroBubble.end());
    const Ran ran = run(print);
    ASSERT_EQ(ran.code, 0) << ran.err;
    written = scratch.file("mine.schedule", ran.out);
  }
  Scratch scratch;
  std::string written;
};

// The text of ZB-H1 on the scenario of 1F1B takes what ZB-H1 takes, and another time than 1F1B.
TEST_F(WrittenSchedule, IsSimulated) {
  const Json mine = json_of({"run", kScenario, "--json", "--schedule", written});
  const Json same = json_of({"run", kScenario, "--json"}, kZeroBubble), other = json_of({"run", kScenario, "--json"});
  const auto fingerprint = [](const Json& json) { return json.find("fingerprint")->string; };
  EXPECT_EQ(fingerprint(mine), fingerprint(same));
  EXPECT_NE(fingerprint(mine), fingerprint(other));
}

TEST_F(WrittenSchedule, IsPerformed) {
  const auto losses = [](const Json& json) {
    std::vector<double> all;
    for (const Json& loss : json.find("losses")->items) all.push_back(loss.number);
    return all;
  };
  const Json mine = json_of({"execute", kScenario, "--steps", "3", "--json", "--schedule", written});
  const Json own = json_of({"execute", kScenario, "--steps", "3", "--json"});
  ASSERT_EQ(losses(mine).size(), 3U);
  EXPECT_EQ(losses(mine), losses(own));
}

TEST_F(WrittenSchedule, NeedsTheScenariosRanksAndMicrobatches) {
  const Ran ranks = run({"run", "scenarios/cpu/gpt-3d.json", "--schedule", written});
  EXPECT_EQ(ranks.code, 2);
  EXPECT_THAT(ranks.err, HasSubstr("a schedule for 2 ranks, but the plan of"));
  const Ran batch = run({"run", kScenario, "--set", "training.global_batch=4", "--schedule", written});
  EXPECT_EQ(batch.code, 2);
  EXPECT_THAT(batch.err, HasSubstr("microbatches, but"));
}

// Both ranks send before they receive: said with its cycle, and no time is printed.
TEST_F(WrittenSchedule, ThatDeadlocksIsRefused) {
  const Json own = json_of({"run", kScenario, "--json"});
  std::string text = slurp(written);
  const std::size_t microbatches = text.find("microbatches");
  const std::string count = text.substr(microbatches, text.find('\n', microbatches) - microbatches);
  std::string both = "world 2\n" + count + "\n";
  for (const char* program : {"left", "right"})
    both += std::string("program ") + program + " {\n  buffer out bf16[4] persistent\n  buffer in bf16[4] persistent\n  send x:out to +1\n"
            "  recv y=in from +1\n}\n";
  const Ran ran = run({"run", kScenario, "--schedule", scratch.file("both.schedule", both)});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("deadlock: 2 of 2 ranks cannot finish"));
  EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace orrery::cli
