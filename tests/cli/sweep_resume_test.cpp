// A sweep that was killed goes on where it was stopped, whatever the kill left at the end of its file, and
// ends with the very file that an undisturbed one writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;

constexpr int kCombinations = 400;

std::vector<std::string> sweep_into(const std::string& output, const std::vector<std::string>& more = {}) {
  std::string seeds = "training.seed=1";
  for (int seed = 2; seed <= kCombinations / 2; ++seed) seeds += "," + std::to_string(seed);
  std::vector<std::string> arguments = {
      "sweep", "scenarios/quickstart.json", "--set", "training.micro_batch=16,3", "--set", seeds, "--output",
      output};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::ptrdiff_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

void append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

TEST(SweepResume, AfterAKill) {
  const Scratch scratch;
  const std::string whole = scratch.path("whole.csv"), killed = scratch.path("killed.csv");
  ASSERT_EQ(run(sweep_into(whole)).code, 0);
  ASSERT_EQ(lines(slurp(whole)), 1 + kCombinations);

  const int process = start(sweep_into(killed, {"-j", "1"}));
  for (int tries = 0; tries < 100'000 && lines(slurp(killed)) < 20; ++tries) ::usleep(500);
  kill_and_wait(process);
  const std::string left = slurp(killed);
  ASSERT_GE(lines(left), 20);
  ASSERT_LT(lines(left), 1 + kCombinations) << "it was killed in the middle";
  append(killed, "77,0123,\"torn");

  const Ran resumed = run(sweep_into(killed));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr(" of 400 combinations are in " + killed + " already"));
  EXPECT_EQ(slurp(killed), slurp(whole));
}

TEST(SweepResume, FinishedRowsAreNotComputedAgain) {
  const Scratch scratch;
  const std::string file = scratch.path("rows.csv");
  const std::vector<std::string> sweep = {
      "sweep", "scenarios/quickstart.json", "--set", "training.seed=1,2", "--output", file, "--json"};
  const Ran first = run(sweep), second = run(sweep);
  EXPECT_EQ(first.out, second.out) << "the answer is whole, wherever its rows come from";
  EXPECT_THAT(second.err, HasSubstr("2 of 2 combinations"));
  std::string text = slurp(file);
  const std::size_t at = text.find(",fits,,");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 7, ",risky,,");
  std::ofstream(file, std::ios::binary) << text;
  EXPECT_THAT(run(sweep).out, HasSubstr("\"risky\"")) << "a row that is there stays as it is";
}

TEST(SweepResume, TornAtEveryPlace) {
  const Scratch scratch;
  const std::string file = scratch.path("rows.csv");
  const std::vector<std::string> sweep = {
      "sweep", "scenarios/quickstart.json", "--set", "training.micro_batch=16,3", "--output", file};
  ASSERT_EQ(run(sweep).code, 0);
  const std::string whole = slurp(file);
  for (std::size_t length = 0; length < whole.size(); length += 37) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << whole.substr(0, length);
    const Ran ran = run(sweep);
    ASSERT_EQ(ran.code, 0) << length << ": " << ran.err;
    ASSERT_EQ(slurp(file), whole) << length;
  }
}

TEST(SweepResume, AnotherSweepsFileIsLeftAlone) {
  const Scratch scratch;
  const std::string file = scratch.path("rows.csv");
  const auto sweep = [&](const std::string& set) {
    return run({"sweep", "scenarios/quickstart.json", "--set", set, "--output", file});
  };
  ASSERT_EQ(sweep("training.seed=1,2").code, 0);
  const std::string before = slurp(file);
  for (const char* other : {"training.seed=1,3", "training.micro_batch=1,2"}) {
    const Ran ran = sweep(other);
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr("the file holds something else than this sweep"));
    EXPECT_EQ(slurp(file), before);
  }
  EXPECT_EQ(
      run({"sweep", "scenarios/quickstart.json", "--output", scratch.file("notes.txt", "dear diary\n")}).code,
      2);
  EXPECT_EQ(slurp(scratch.path("notes.txt")), "dear diary\n");
}

TEST(SweepResume, AChangedScenarioIsAnotherSweep) {
  const Scratch scratch;
  const std::string file = scratch.path("rows.csv"),
                    base = scratch.file("base.json", R"({"base": "scenarios/quickstart.json"})");
  const std::string scenario = scratch.file("a.json", R"({"base": "base.json"})");
  ASSERT_EQ(run({"sweep", scenario, "--output", file}).code, 0);
  ASSERT_EQ(run({"sweep", scenario, "--output", file}).code, 0);
  scratch.file("base.json", R"({"base": "scenarios/quickstart.json", "training": {"micro_batch": 8}})");
  EXPECT_EQ(run({"sweep", scenario, "--output", file}).code, 2) << "though only its base changed";
}

TEST(Sweep, ThreadsDoNotShow) {
  const auto sweep = [](const std::string& threads) {
    return run({"sweep", "scenarios/quickstart.json", "--set", "training.micro_batch=[1,2,4,8,16,32,5]",
                "--csv", "-j", threads})
        .out;
  };
  EXPECT_EQ(lines(sweep("1")), 8);
  EXPECT_EQ(sweep("1"), sweep("7"));
}

TEST(Sweep, MeasurementsAreExplainedByLogErrors) {
  const Ran ran =
      run({"sweep", "scenarios/korthikanti/22b-full.json", "--set", "training.recompute=full,none", "--csv"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string header = ran.out.substr(0, ran.out.find('\n'));
  EXPECT_THAT(
      header,
      HasSubstr(
          "log_error.throughput,log_error.memory_live,log_error.memory_total,log_error.communication_total"));
  EXPECT_THAT(run({"sweep", "scenarios/korthikanti/22b-full.json"}).out, HasSubstr("ln speed"));
}

}  // namespace
}  // namespace orrery::cli
