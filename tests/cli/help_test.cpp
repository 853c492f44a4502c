// Every command helps, with examples, and completes; the version is one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <utility>

#include "tests/cli/program.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kCommands[] = {"run",   "compare",  "execute", "calibrate", "validate",  "sweep",
                                     "check", "model",    "schedule", "cluster",  "completion"};

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

// The pages are written by hand, the options are orrery-rt's.
TEST(Help, EveryOptionOfTheRuntimeIsInItsReference) {
  const std::regex option("\\n  (?:-[a-z],)?(--[a-z-]+)");
  for (const auto& [command, page] :
       {std::pair{"execute", "docs/reference/execute.md"}, {"calibrate", "docs/reference/calibrate.md"}, {"validate", "docs/reference/execute.md"}}) {
    const std::string help = run({command, "--help"}).out, text = slurp(page);
    std::size_t found = 0;
    for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at, ++found)
      EXPECT_TRUE(at->str(1) == "--help" || text.find("`" + at->str(1)) != std::string::npos) << page << ": " << at->str(1);
    EXPECT_GT(found, 4U) << help;
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
