// Exit codes and which output carries what: 0 fine, 1 the answer is no, 2 the input is wrong (and no time is
// printed), 3 the surroundings failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kFits = "scenarios/quickstart.json";
constexpr const char* kTooLarge = "scenarios/175b-8xa100-40g.json";

void expect_refused(const std::vector<std::string>& arguments, const std::string& why) {
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.code, 2) << why;
  EXPECT_EQ(ran.out, "") << "no time is printed";
  EXPECT_THAT(ran.err, HasSubstr("error: "));
  EXPECT_THAT(ran.err, HasSubstr(why));
}

TEST(ExitCodes, FineIsZeroAndSilentOnStderr) {
  for (const char* command : {"run", "compare", "check"}) {
    const Ran ran = run({command, kFits});
    EXPECT_EQ(ran.code, 0) << command;
    EXPECT_THAT(ran.out, Not(IsEmpty())) << command;
    EXPECT_EQ(ran.err, "") << command;
  }
}

TEST(ExitCodes, APlanThatDoesNotFitGetsItsTimeUnlessAFitIsRequired) {
  const Ran marked = run({"run", kTooLarge});
  EXPECT_EQ(marked.code, 0);
  EXPECT_THAT(marked.out, HasSubstr("DOES NOT FIT"));
  EXPECT_THAT(marked.out, HasSubstr("step time"));
  EXPECT_EQ(run({"run", kTooLarge, "--require-fit"}).code, 1);
  EXPECT_EQ(run({"run", kFits, "--require-fit"}).code, 0);
  EXPECT_EQ(run({"compare", kFits, kTooLarge, "--require-fit"}).code, 1);
  EXPECT_EQ(run({"sweep", kTooLarge, "--set", "training.seed=1,2", "--require-fit"}).code, 1);
  EXPECT_EQ(run({"sweep", kFits, kTooLarge, "--require-fit"}).code, 0) << "one of them fits";
  EXPECT_EQ(run({"check", kTooLarge}).code, 1);
  EXPECT_EQ(run({"check", kFits}).code, 0);
}

// 4 GiB over NICs of 10 kB/s, a thousandth of which passes a leaf: years.
TEST(ExitCodes, ATransferThatTheClockCannotHoldIsTwo) {
  const Scratch scratch;
  const std::string slow = scratch.file(
      "slow.json",
      R"({"base": "hardware/clusters/a100-80g-16x8.json", "node": {"nics": {"count": 1, "line": "1 MB/s"}},
 "fabric": {"efficiency": 0.01, "oversubscription": 1000, "nodes_per_leaf": 1}})");
  expect_refused({"cluster", slow, "--collective", "all_reduce"}, "a transfer takes too long");
  EXPECT_EQ(run({"cluster", slow, "--collective", "all_reduce", "--size", "1 KiB"}).code, 0);
}

// It would pass for an option that was not given.
TEST(ExitCodes, AnEmptyValueIsTwo) {
  const std::string scenario = "scenarios/cpu/gpt-3d.json";
  for (const char* option : {"--resume", "--data", "--emulate", "--save", "--save-trace", "--schedule"})
    expect_refused({"execute", scenario, option, ""}, std::string(option) + ": its value is empty");
  expect_refused({"execute", scenario, "--ranks-as", ""}, "--ranks-as");
  expect_refused({"calibrate", "--output", ""}, "--output: its value is empty");
  for (const char* option : {"--trace", "--save-trace", "--tokens", "--schedule", "--set"})
    expect_refused({"run", kFits, option, ""}, std::string(option) + ": its value is empty");
  expect_refused({"compare", kFits, "--measured", ""}, "--measured: its value is empty");
  expect_refused({"sweep", kFits, "--output", ""}, "--output: its value is empty");
  expect_refused({"schedule", kFits, "--read", ""}, "--read: its value is empty");
  expect_refused({"cluster", "hardware/clusters/dgx-h100.json", "--size", ""}, "--size: its value is empty");
}

TEST(ExitCodes, NumbersThatAreNoneAreTwo) {
  const std::string scenario = "scenarios/cpu/gpt-3d.json";
  expect_refused({"execute", scenario, "--stall-limit", "nan"}, "--stall-limit");
  expect_refused({"execute", scenario, "--stall-limit", "inf"}, "--stall-limit");
  expect_refused({"run", kFits, "--emulated-stretch", "nan"}, "--emulated-stretch");
  expect_refused({"validate", "--execute", "--most-error", "nan"}, "--most-error");
  expect_refused({"execute", scenario, "--save", "unused", "--keep", "99999999999999999999"}, "--keep");
  expect_refused({"execute", scenario, "--save", "unused", "--every", "99999999999999999999"}, "--every");
}

// What a run prints is lost, and that is its end; a reader that goes away needs no message.
TEST(ExitCodes, AnOutputOfTheRuntimeThatCannotBeWrittenIsThree) {
  const Ran full = run({"execute", "scenarios/cpu/gpt-3d.json", "--set", "cluster.node.gpus=4", "--set", "parallel.tp=1",
                        "--set", "parallel.sp=false", "--set", "model.hidden=32", "--set", "model.head_dim=8",
                        "--set", "model.ffn_hidden=64", "--steps", "100000"},
                       {.out = "/dev/full"});
  EXPECT_EQ(full.code, 3);
  EXPECT_THAT(full.err, HasSubstr("error: the standard output cannot be written: No space left on device"));
}

TEST(ExitCodes, AFileThatMayNotGrowIsThree) {
  const Scratch scratch;
  const Ran ran = run_shell("ulimit -f 1; orrery execute " + std::filesystem::absolute("scenarios/cpu/gpt-3d.json").string() +
                                " --set cluster.node.gpus=4 --set parallel.tp=1 --set parallel.sp=false --set model.hidden=32"
                                " --set model.head_dim=8 --set model.ffn_hidden=64 --steps 2 --quiet --save ck; echo code $?",
                            scratch.path());
  EXPECT_THAT(ran.out, HasSubstr("code 3"));
  EXPECT_THAT(ran.out, HasSubstr("File too large"));
  EXPECT_THAT(ran.out, HasSubstr("ck/"));
}

TEST(ExitCodes, WrongFilesAreTwo) {
  const Scratch scratch;
  const std::string text = slurp(kFits);
  for (const char* command : {"run", "compare", "sweep", "model", "cluster", "schedule"}) {
    expect_refused({command, "no-such-file.json"}, "no-such-file.json: error: no such file");
    expect_refused({command, "scenarios"}, "is a directory");
    expect_refused({command, scratch.file("empty.json", "")}, "empty.json:1:1");
    expect_refused({command, scratch.file("half.json", text.substr(0, text.size() / 2))}, "half.json:");
  }
  expect_refused({"schedule", "--read", "no-such-file.schedule"}, "no such file");
}

// Files of ours that are no scenario are told by what they are, in a line.
TEST(ExitCodes, AnotherFileThanAScenarioIsNamed) {
  const Scratch scratch;
  const std::string trace = scratch.path("t.trace"), perfetto = scratch.path("t.json");
  ASSERT_EQ(run({"run", kFits, "--save-trace", trace, "--trace", perfetto}).code, 0);
  for (const char* command : {"run", "compare", "execute"}) {
    expect_refused({command, trace}, "t.trace: error: this is a trace, and not a scenario\n  hint: ");
    expect_refused({command, "models/zoo/gpt2-124m.json"}, "error: this is a model, and not a scenario");
    expect_refused({command, "hardware/clusters/dgx-h100.json"}, "error: this is a cluster, and not a scenario");
  }
  expect_refused({"run", perfetto}, "this is a trace for Perfetto");
  expect_refused({"compare", "--measured", perfetto, kFits}, "this is a trace for Perfetto");
}

TEST(ExitCodes, IllegalPlansAreTwoWithEveryErrorOfEveryFile) {
  const Scratch scratch;
  const auto plan = [&](const std::string& name, const std::string& parallel) {
    return scratch.file(name, R"({"base": "scenarios/quickstart.json", "parallel": )" + parallel + "}");
  };
  const std::string a = plan("a.json", R"({"tp": 5})"), b = plan("b.json", R"({"zerro": 1})");
  expect_refused({"run", a, b}, "a.json:1:");
  expect_refused({"run", a, b}, "b.json:1:");
  expect_refused({"run", b}, "did you mean");
  expect_refused({"run", kFits, "--set", "parallel.tp=5"}, "--set:1:13: error: tp=5");
  expect_refused({"run", kFits, "--set", "training.micro_batsch=3"},
                 "did you mean \"training.micro_batch\"?");
  const Ran checked = run({"check", a});
  EXPECT_EQ(checked.code, 2);
  EXPECT_THAT(checked.out, HasSubstr("legal     no"));
  EXPECT_THAT(checked.err, HasSubstr("a.json:1:"));
}

TEST(ExitCodes, WrongCommandLinesAreTwo) {
  expect_refused({}, "subcommand");
  expect_refused({"runn", kFits}, "did you mean \"run\"?");
  expect_refused({"run"}, "FILE");
  expect_refused({"run", kFits, "--jsn"}, "there is no option --jsn\n  hint: did you mean --json?");
  expect_refused({"compare"}, "compare needs scenario files");
  expect_refused({"run", kFits, "--json", "--csv"}, "--csv");
  expect_refused({"run", kFits, "--set", "training.micro_batch"}, "path=value");
  expect_refused({"run", kFits, "--set", "model=[1,"}, "--set:1:");
  expect_refused({"run", kFits, kFits, "--trace", "x.json"}, "--trace takes one scenario");
  expect_refused({"sweep", kFits, "--set", "training.seed=1,2", "--set", "training.seed=3"}, "is set twice");
  expect_refused({"schedule", kFits, "--rank", "8"}, "ranks are 0 to 7");
  expect_refused({"model", "models/zoo/gpt2-124m.json", "--sequence", "1025"}, "1024 positions");
  expect_refused({"cluster", "hardware/clusters/dgx-h100.json", "--from", "1"}, "two ends");
  expect_refused({"cluster", "hardware/clusters/dgx-h100.json", "--from", "1", "--to", "8"},
                 "GPUs are 0 to 7");
  expect_refused(
      {"cluster", "hardware/clusters/dgx-h100.json", "--collective", "all_reduce", "--size", "3 apples"},
      "is no size");
  expect_refused({"cluster", "hardware/clusters/dgx-h100.json", "--collective", "gemm"}, "all_gather");
  expect_refused({"completion", "csh"}, "bash");
  expect_refused({"validate", "scenarios/cpu"}, "no file of measured runs");
  expect_refused({"validate", "--quick"}, "--execute");
  expect_refused({"validate", "--execute", "--quick", "--cluster", "x.json"}, "--quick is of the calibration");
  expect_refused({"validate", "--execute", "no-such-directory"}, "no such directory");
  expect_refused({"validate", "--execute", "--cluster", "no-such.json"}, "error: --cluster no-such.json: no such file");
  expect_refused({"validate", "--execute", "--cluster", "hardware/clusters/dgx-a100-80g.json", "validation/no"}, "no such directory");
}

TEST(ExitCodes, AWorldThatFailsIsThree) {
  const Ran trace = run({"run", kFits, "--trace", "/no/such/directory/trace.json"});
  EXPECT_EQ(trace.code, 3);
  EXPECT_EQ(trace.out, "");
  EXPECT_THAT(trace.err, StartsWith("error: /no/such/directory/trace.json: "));
  const Ran full = run({"run", kFits}, {".", "/dev/full"});
  EXPECT_EQ(full.code, 3);
  EXPECT_THAT(full.err, HasSubstr("cannot be written"));
  EXPECT_EQ(run({"sweep", kFits, "--output", "/no/such/directory/rows.csv"}).code, 3);
}

TEST(ExitCodes, ADirectoryThatCannotBeMadeIsThreeAndNoFailureOfOurs) {
  const Scratch scratch;
  const std::string in_the_way = scratch.file("file", "");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"calibrate", "--output", in_the_way}, {"validate", "--execute", "--output", in_the_way}}) {
    const Ran ran = run(command);
    EXPECT_EQ(ran.code, 3) << command[0];
    EXPECT_THAT(ran.err, StartsWith("error: " + in_the_way + ": cannot be made: ")) << command[0];
  }
}

TEST(ExitCodes, AReaderThatGoesAwayEndsItQuietly) {
  const Ran ran =
      run_shell("(orrery schedule scenarios/quickstart.json; echo \"code $?\" >&2) | head -n 1", ".");
  EXPECT_THAT(ran.out, HasSubstr("schedule \"GPT-2 124M on one DGX A100\"\n"));
  EXPECT_THAT(ran.out, Not(HasSubstr("error")));
}

TEST(ExitCodes, MessagesThatCannotBeWrittenKeepTheirCode) {
  EXPECT_THAT(run_shell("orrery run /no/such.json 2>/dev/full; echo \"code $?\"", ".").out, HasSubstr("code 2"));
  EXPECT_THAT(run_shell("orrery run /no/such.json 2>&-; echo \"code $?\"", ".").out, HasSubstr("code 2"));
}

TEST(ExitCodes, ATraceNeverOverwritesItsScenario) {
  const Scratch scratch;
  const std::string copy = scratch.file("own.json", slurp(kFits));
  expect_refused({"run", copy, "--trace", copy}, "would overwrite " + copy);
  EXPECT_EQ(slurp(copy), slurp(kFits));
}

TEST(ExitCodes, GoalsOfManyMonthsAreTold) {
  const Ran ran = run({"run", kFits, "--tokens", "1e15"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(" d"));
}

TEST(ExitCodes, DeadlocksAreNoWithTheirCycle) {
  const Ran ran = run({"check", "tests/cli/send_first.schedule"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("not sound"));
  EXPECT_THAT(ran.out, HasSubstr("deadlock"));
  EXPECT_THAT(ran.out, HasSubstr("rank 1"));
  EXPECT_EQ(run({"schedule", "--read", "tests/cli/send_first.schedule"}).code, 1);
  const Scratch scratch;
  const std::string text = slurp("tests/cli/send_first.schedule");
  expect_refused({"schedule", "--read", scratch.file("half.schedule", text.substr(0, text.size() / 2))},
                 "half.schedule:");
}

}  // namespace
}  // namespace orrery::cli
