// Every command helps, with examples, and completes; the version is one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/program.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kCommands[] = {"run",   "compare",  "execute", "sweep",     "check",
                                     "model", "schedule", "cluster", "completion"};

TEST(Help, EveryCommandShowsExamplesAndExitCodes) {
  const Ran all = run({"--help"});
  EXPECT_EQ(all.code, 0);
  for (const std::string command : kCommands) {
    EXPECT_THAT(all.out, HasSubstr("\n  " + command + " "));
    const Ran ran = run({command, "--help"});
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_THAT(ran.out, HasSubstr("Usage: orrery " + command));
    EXPECT_THAT(ran.out, HasSubstr("Examples:\n  orrery " + command + " "));
    EXPECT_THAT(ran.out, HasSubstr("Exit codes: 0 fine; 1 "));
  }
}

TEST(Help, Version) {
  const Ran ran = run({"--version"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, StartsWith("orrery 0."));
}

std::string completed(const std::string& words) {
  return run_shell("bash -c 'source <(orrery completion bash); COMP_WORDS=(" + words +
                       "); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); _orrery; echo \"${COMPREPLY[*]}\"'",
                   ".")
      .out;
}

TEST(Completion, BashOffersCommandsOptionsFieldsAndFiles) {
  EXPECT_EQ(completed("orrery s"), "sweep schedule\n");
  EXPECT_EQ(completed("orrery run --ex"), "--explain\n");
  EXPECT_EQ(completed("orrery run --set parallel.t"), "parallel.tp=\n");
  EXPECT_EQ(completed("orrery run scenarios/quick"), "scenarios/quickstart.json\n");
  EXPECT_EQ(completed("orrery completion z"), "zsh\n");
}

TEST(Completion, ZshAndFishNameEveryCommand) {
  for (const std::string command : kCommands) {
    EXPECT_THAT(run({"completion", "zsh"}).out, HasSubstr(command + ") words_of='--help"));
    EXPECT_THAT(run({"completion", "fish"}).out, HasSubstr("-a " + command + " -d '"));
  }
}

}  // namespace
}  // namespace orrery::cli
