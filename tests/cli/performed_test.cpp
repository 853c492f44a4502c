// What the built orrery-rt says of runs that are wrong or go wrong: options, outputs, data, losses, memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> tiny(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"execute", "scenarios/cpu/gpt-dp2.json", "--set", "model.hidden=32", "--set", "model.heads=2",
                                    "--set", "model.kv_heads=2", "--set", "model.head_dim=16", "--set", "model.ffn_hidden=64",
                                    "--set", "model.layers=1", "--set", "training.sequence_length=16", "--steps", "5"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void expect_error(const std::vector<std::string>& more, int code, const std::string& why) {
  const Ran ran = run(tiny(more));
  EXPECT_EQ(ran.code, code) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr(why));
  EXPECT_THAT(ran.out, Not(HasSubstr("step  "))) << "before the first step";
}

TEST(Performed, WrongOptionsAreReadable) {
  expect_error({"--stall-limit", "0"}, 2, "--stall-limit: 0 is not a number of seconds: more than 0");
  expect_error({"--discard", "x"}, 2, "--discard: x is not a number: 0 or more");
  expect_error({"--stepz", "3"}, 2, "there is no option --stepz\n  hint: did you mean --steps?");
  expect_error({"--trace", "x.json"}, 2, "there is no option --trace\n  hint: --save-trace FILE");
  const Ran calibrate = run({"calibrate", "--quik"});
  EXPECT_EQ(calibrate.code, 2);
  EXPECT_THAT(calibrate.err, HasSubstr("did you mean --quick?"));
}

TEST(Performed, OutputsAreTriedFirst) {
  const Scratch scratch;
  expect_error({"--save-trace", "/no/such/run.trace"}, 3, "--save-trace /no/such/run.trace: cannot be written: No such file");
  expect_error({"--save", scratch.file("f", "") + "/c"}, 3, "--save " + scratch.path("f") + "/c");
}

TEST(Performed, WhatDoesNotFitIntoTheMemoryIsRefused) {
  const Ran ran = run({"execute", "scenarios/gpt3-175b-1024.json"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, testing::AllOf(HasSubstr("1024 ranks on this machine need "), HasSubstr("GiB are free"), HasSubstr("needs the most"),
                                      HasSubstr("hint: scenarios/cpu")));
}

TEST(Performed, TheHeadingAndAShortText) {
  const Scratch scratch;
  const Ran ran = run(tiny({"--data", scratch.file("short.txt", "hello"), "--quiet"}));
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, testing::StartsWith("Byte GPT on two cores, DP2: DP2, 2 ranks (threads) on "));
  EXPECT_THAT(ran.err, HasSubstr("short.txt has 5 bytes, and a sequence with its labels 17"));
  EXPECT_THAT(run(tiny({"--quiet"})).err, Not(HasSubstr("warning")));
}

TEST(Performed, ALossThatIsNoNumberIsSaidWithItsStep) {
  const Ran ran = run(tiny({"--set", "training.learning_rate=1000000"}));
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("warning: the loss of step "));
  EXPECT_THAT(ran.err, HasSubstr("the training has diverged"));
  EXPECT_THAT(ran.out, Not(HasSubstr("-nan")));
}

TEST(Performed, EmulatedStepsHaveNoLoss) {
  const Scratch scratch;
  std::vector<std::string> simulate = tiny({"--save-trace", scratch.path("s.trace")});
  simulate.front() = "run";
  simulate.erase(std::find(simulate.begin(), simulate.end(), "--steps"), std::find(simulate.begin(), simulate.end(), "--steps") + 2);
  ASSERT_EQ(run(simulate).code, 0);
  const Ran ran = run(tiny({"--emulate", scratch.path("s.trace")}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("step     2"));
  EXPECT_THAT(ran.out, Not(HasSubstr("loss")));
}

}  // namespace
}  // namespace orrery::cli
