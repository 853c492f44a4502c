// `execute` starts orrery-rt, passes everything on, and leaves nothing running. System: the built orrery, and
// shell scripts in the place of orrery-rt and mpirun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "schedule/trace_file.h"
#include "tests/cli/program.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kOne = "scenarios/3b-1gpu.json";
constexpr const char* kEight = "scenarios/quickstart.json";

class Execute : public testing::Test {
 protected:
  void SetUp() override {
    path_before_ = std::getenv("PATH");
    ::setenv("PATH", (scratch.path() + ":" + path_before_).c_str(), 1);
    ::setenv("ORRERY_RT", scratch.path("orrery-rt").c_str(), 1);
  }
  void TearDown() override {
    ::setenv("PATH", path_before_.c_str(), 1);
    ::unsetenv("ORRERY_RT");
  }
  void program(const std::string& name, const std::string& script) const {
    namespace fs = std::filesystem;
    fs::permissions(scratch.file(name, "#!/bin/sh\n" + script), fs::perms::owner_all);
  }
  Scratch scratch;

 private:
  std::string path_before_;
};

TEST_F(Execute, PassesItsArgumentsAndTheOutputOn) {
  program("orrery-rt", "echo \"got: $*\"; echo talk >&2; exit 0\n");
  const Ran ran = run({"execute", kOne, "--steps", "5", "--data", "a file.txt", "--ranks-as", "threads"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, std::string("got: ") + kOne + " --backend threads --steps 5 --data a file.txt\n");
  EXPECT_EQ(ran.err, "talk\n");
  EXPECT_EQ(run({"execute", kOne, "--", "--double", "--help"}).out,
            std::string("got: ") + kOne + " --backend threads --double --help\n");
}

TEST_F(Execute, SeveralScenariosOneAfterAnother) {
  program("orrery-rt", "echo \"$1\"; [ $1 = " + std::string(kOne) + " ] || exit 3\n");
  const Ran ran = run({"execute", kEight, kOne, "--steps", "1"});
  EXPECT_EQ(ran.out, std::string(kEight) + "\n" + kOne + "\n");
  EXPECT_EQ(ran.code, 3) << "the worst of them";
  const Ran refused = run({"execute", kEight, kOne, "--save-trace", "x.trace"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--save-trace takes one scenario"));
}

TEST_F(Execute, ExitCodes) {
  for (const int code : {0, 2, 3}) {
    program("orrery-rt", "[ $# = 0 ] || exit " + std::to_string(code) + "\n");
    const Ran ran = run({"execute", kOne});
    EXPECT_EQ(ran.code, code);
    EXPECT_EQ(ran.err, "") << "it has said why itself";
  }
  program("orrery-rt", "exit 17\n");
  Ran ran = run({"execute", kOne});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.err, "error: orrery-rt ended with exit code 17\n");
  program("orrery-rt", "kill -SEGV $$\n");
  ran = run({"execute", kOne});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.err, "error: orrery-rt was ended by signal 11 (Segmentation fault)\n");
}

// calibrate and validate start it too, and its end means the same there.
TEST_F(Execute, ExitCodesOfOtherCommandsThatStartIt) {
  program("orrery-rt", "exit 17\n");
  Ran ran = run({"calibrate"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.err, "error: orrery-rt ended with exit code 17\n");
  const std::vector<std::string> validate = {"validate", "--execute", "--output", scratch.path("out")};
  EXPECT_EQ(run(validate).code, 3);
  for (const int code : {2, 3}) {
    program("orrery-rt", "exit " + std::to_string(code) + "\n");
    EXPECT_EQ(run({"calibrate"}).code, code);
    EXPECT_EQ(run(validate).code, code);
  }
}

// A finished calibration is made anew, and one that was interrupted goes on by itself: --resume would keep a finished one.
TEST_F(Execute, ValidationCalibratesAnew) {
  program("orrery-rt", "echo \"$*\" >> " + scratch.path("calls") + "\nexit 3\n");
  EXPECT_EQ(run({"validate", "--execute", "--quick", "--output", scratch.path("out")}).code, 3);
  EXPECT_THAT(slurp(scratch.path("calls")), testing::StartsWith("calibrate validation/cpu/calibrated/"));
  EXPECT_THAT(slurp(scratch.path("calls")), testing::EndsWith(" --name this-machine --quick\n"));
}

// A mistake in what is performed last is found before anything is measured, and before a table begins.
TEST_F(Execute, ValidationReadsItsInputsFirst) {
  program("orrery-rt", "echo started\n");
  for (const char* half : {"calibrated", "held-out"}) std::filesystem::create_directories(scratch.path("v/") + half);
  std::filesystem::copy_file("scenarios/cpu/gpt-dp2.json", scratch.path("v/calibrated/a.json"));
  scratch.file("v/held-out/b.json", "{ broken");
  const Ran broken = run({"validate", "--execute", scratch.path("v"), "--output", scratch.path("out")});
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, HasSubstr("b.json:1:"));
  EXPECT_EQ(broken.out, "");
  scratch.file("v/held-out/b.json", slurp("scenarios/cpu/gpt-dp2.json"));
  const Ran wrong = run({"validate", "--execute", scratch.path("v"), "--output", scratch.path("out"), "--cluster",
                         scratch.file("c.json", "{\"nodes\": 1}")});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("with --cluster " + scratch.path("c.json")));
  EXPECT_EQ(wrong.out, "");
}

// Under its table: what the calibration did not measure, and steps that say that the machine was busy. The runtime is a script
// that gives a trace of one fast step and slow ones.
TEST_F(Execute, ValidationSaysWhatItsTableRestsOn) {
  constexpr const char* kScenario = "scenarios/cpu/gpt-dp2.json";
  const std::string cluster = scratch.file("c.json", R"({"base": "hardware/clusters/cpu-uncalibrated.json", "gpu": {"kernel_table":
      {"provenance": {"notes": ["not measured: 5 of 12 scenarios: a.json", "no matter"]}}}})");
  for (const char* half : {"calibrated", "held-out"}) std::filesystem::create_directories(scratch.path("v/") + half);
  std::filesystem::copy_file(kScenario, scratch.path("v/calibrated/a.json"));
  const std::string performed = scratch.path("performed.trace");
  ASSERT_EQ(run({"run", kScenario, "--set", "cluster=" + cluster, "--save-trace", performed}).code, 0);
  schedule::Trace trace = schedule::read_trace(performed);
  trace.origin = schedule::TraceOrigin::measured;
  schedule::write_trace(performed, trace);
  program("orrery-rt", "while [ $# -gt 1 ]; do shift; done; cp " + performed + " \"$1\"\n");
  const std::vector<std::string> validate = {"validate", "--execute", scratch.path("v"), "--output", scratch.path("out"), "--cluster", cluster};
  const Ran steady = run(validate);
  EXPECT_EQ(steady.code, 0) << steady.err;
  EXPECT_THAT(steady.out, HasSubstr("warning: the calibration: not measured: 5 of 12 scenarios: a.json\n"));
  EXPECT_THAT(steady.out, Not(HasSubstr("no matter")));
  EXPECT_THAT(steady.out, Not(HasSubstr("busy")));
  const std::int32_t last = trace.first_step + trace.steps - 1;
  for (schedule::RankTrace& rank : trace.ranks)
    for (schedule::TraceRecord& r : rank.records)
      if (r.step == last)
        for (std::int64_t* time : {&r.ready_ns, &r.begin_ns, &r.end_ns}) *time += 10'000'000'000;
  schedule::write_trace(performed, trace);
  EXPECT_THAT(run(validate).out, HasSubstr("steps of 1 of 1 scenarios differ by more than 25 %"));
}

TEST_F(Execute, WrongCommandLinesStartNothing) {
  program("orrery-rt", "echo started\n");
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& why) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << why;
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(why));
  };
  refused({"execute"}, "execute needs a scenario file");
  refused({"execute", "--steps", "5", kOne}, "the scenario file comes first");
  refused({"execute", kOne, "--ranks-as", "fibres"}, "\"fibres\" is no way to run ranks");
  refused({"execute", kOne, "--ranks-as"}, "--ranks-as needs a value");
  refused({"execute", "no-such.json"}, "no such file");
  refused({"execute", kOne, "--set", "parallel.tp=7"}, "tp=7");
}

TEST_F(Execute, WithoutARuntimeItSaysSo) {
  ::unsetenv("ORRERY_RT");
  const Ran ran = run_shell("mkdir bin; cp $(command -v orrery) bin/; bin/orrery execute " +
                                std::filesystem::absolute(kOne).string() + "; echo code $?",
                            scratch.path());
  EXPECT_THAT(ran.out, HasSubstr("orrery-rt, which performs schedules, is not beside this program"));
  EXPECT_THAT(ran.out, HasSubstr("code 3"));
  ::setenv("ORRERY_RT", "/no/such/orrery-rt", 1);
  const Ran named = run({"execute", kOne});
  EXPECT_EQ(named.code, 3);
  EXPECT_THAT(named.err, HasSubstr("/no/such/orrery-rt: cannot be started: No such file"));
}

TEST_F(Execute, HelpShowsTheOptionsOfTheRuntime) {
  program("orrery-rt", "[ \"$1\" = --help ] && echo '  --stall-limit SECONDS'\n");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"execute", "--help"}, {"execute", kOne, "--help"}}) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.out, HasSubstr("--ranks-as"));
    EXPECT_THAT(ran.out, HasSubstr("--stall-limit SECONDS"));
  }
}

constexpr const char* kBanner = R"(cat >&2 <<'END'
error: rank 1 waited for rank 0 for 2 s
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[16387,1],1]
  Exit code:    3
--------------------------------------------------------------------------
END
)";

TEST_F(Execute, AsProcessesItGoesThroughMpirun) {
  program("orrery-rt", "exit 1\n");
  program("mpirun", "echo \"$*\"\n");
  const Ran ran = run({"execute", kEight, "--ranks-as", "mpi", "--steps", "2"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("-n 8 "));
  EXPECT_THAT(ran.out, HasSubstr(scratch.path("orrery-rt") + " " + kEight + " --backend mpi --steps 2\n"));
  if (::geteuid() == 0) {
    EXPECT_THAT(ran.out, HasSubstr("--allow-run-as-root"));
  }
  const Ran more =
      run({"execute", "scenarios/13b-tp8-pp4.json", "--set", "cluster.nodes=8", "--ranks-as=mpi"});
  EXPECT_THAT(more.out, HasSubstr("-n 64 ")) << more.err;
  EXPECT_THAT(more.out, HasSubstr("--set cluster.nodes=8"));
}

TEST_F(Execute, MpirunsOwnWordsAreLeftOut) {
  program("orrery-rt", "exit 1\n");
  program("mpirun", std::string(kBanner) + "exit 3\n");
  const Ran ran = run({"execute", kEight, "--ranks-as", "mpi"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.err, "error: rank 1 waited for rank 0 for 2 s\n");
}

TEST_F(Execute, WhatOnlyMpirunKnowsIsSaidInOneLine) {
  program("orrery-rt", "exit 1\n");
  program("mpirun",
          "echo '--------------------------------------------------------------------------\n"
          "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).\n"
          "--------------------------------------------------------------------------' >&2; exit 137\n");
  const Ran ran = run({"execute", kEight, "--ranks-as", "mpi"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_EQ(ran.err, "error: rank 1 was ended by signal 9 (Killed)\n");
}

// The script says in a file that it runs, and that it was told; then orrery ends, and nothing is left.
TEST_F(Execute, InterruptsAreForwardedAndNothingIsLeft) {
  const std::string log = scratch.path("log");
  program("orrery-rt", "trap 'echo told >> " + log + "; exit 3' INT\nsleep 1000 &\necho $$ $! > " + log +
                           "\nwhile :; do sleep 0.05; done\n");
  const int process = start({"execute", kOne});
  while (slurp(log).find('\n') == std::string::npos) std::this_thread::yield();
  ::kill(process, SIGINT);
  EXPECT_EQ(wait_for(process), 3);
  EXPECT_THAT(slurp(log), HasSubstr("told"));
  std::ifstream pids(log);
  for (int i = 0, pid = 0; i < 2 && pids >> pid; ++i) EXPECT_NE(::kill(pid, 0), 0) << pid;
}

// If orrery itself is killed, the runtime is told to end.
TEST_F(Execute, AKilledOrreryLeavesNothingEither) {
  const std::string log = scratch.path("log");
  program("orrery-rt", "trap 'echo told >> " + log + "; exit 3' TERM\necho runs > " + log +
                           "\nwhile :; do sleep 0.05; done\n");
  const int process = start({"execute", kOne});
  while (slurp(log).find("runs\n") == std::string::npos) std::this_thread::yield();
  kill_and_wait(process);
  while (slurp(log).find("told") == std::string::npos) std::this_thread::yield();
  EXPECT_THAT(slurp(log), HasSubstr("told"));
}

}  // namespace
}  // namespace orrery::cli
