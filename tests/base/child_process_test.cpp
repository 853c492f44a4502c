// A child process runs, is heard, is told about signals, and leaves nothing behind. The children are shell
// scripts; every one writes where it has come to, so that no test rests on time.
#include "base/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;

struct Heard {
  ChildEnd end;
  std::string out, err;
};

Heard hear(const std::string& script) {
  Heard heard;
  heard.end = run_child({.program = "sh",
                         .arguments = {"-c", script},
                         .on_output = [&](std::string_view text) { heard.out += text; },
                         .on_error = [&](std::string_view text) { heard.err += text; }});
  return heard;
}

bool is_alive(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t at = stat.rfind(')');
  return at != std::string::npos && stat[at + 2] != 'Z';
}

TEST(ChildProcess, SaysHowItEnded) {
  EXPECT_EQ(hear("exit 7").end.code, 7);
  EXPECT_EQ(hear("exit 7").end.signal, 0);
  EXPECT_EQ(hear("kill -SEGV $$").end.signal, SIGSEGV);
  EXPECT_EQ(hear("exit 0").end.forwarded, 0);
}

TEST(ChildProcess, IsHeardToTheEnd) {
  const Heard heard = hear("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; echo wrong >&2");
  EXPECT_THAT(heard.out, HasSubstr("line 0\n"));
  EXPECT_THAT(heard.out, HasSubstr("line 1999\n"));
  EXPECT_EQ(heard.err, "wrong\n");
}

TEST(ChildProcess, TakesItsArgumentsAsTheyAre) {
  std::string out;
  run_child({.program = "printf",
             .arguments = {"%s|", "a b", "$HOME", "", "'"},
             .on_output = [&](std::string_view text) { out += text; },
             .on_error = {}});
  EXPECT_EQ(out, "a b|$HOME||'|");
}

TEST(ChildProcess, HasAnEmptyInput) { EXPECT_EQ(hear("cat; echo end").out, "end\n"); }

TEST(ChildProcess, WhatCannotBeStartedIsSaid) {
  try {
    run_child({.program = "/no/such/program", .arguments = {}, .on_output = {}, .on_error = {}});
    FAIL() << "it was started";
  } catch (const WorldError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/no/such/program: cannot be started: No such file"));
  }
}

// The signal is sent to us whenever the child says that it is ready for one.
Heard interrupted(const std::string& script, int signal, std::chrono::milliseconds patience,
                  int first_signal = 0) {
  Heard heard;
  heard.end = run_child({.program = "sh",
                         .arguments = {"-c", script},
                         .on_output =
                             [&](std::string_view text) {
                               for (const char c : text) {
                                 heard.out += c;
                                 if (heard.out.ends_with("ready")) ::kill(::getpid(), signal);
                               }
                             },
                         .on_error = {},
                         .first_signal = first_signal,
                         .patience = patience});
  return heard;
}

TEST(ChildProcess, SignalsAreForwardedAndWaitedFor) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const Heard heard =
        interrupted("trap 'echo told; exit 3' INT TERM HUP; echo ready; while :; do sleep 0.05; done", signal,
                    std::chrono::seconds(60));
    EXPECT_EQ(heard.end.code, 3);
    EXPECT_EQ(heard.end.forwarded, signal);
    EXPECT_THAT(heard.out, HasSubstr("told"));
  }
}

TEST(ChildProcess, OneThatDoesNotListenIsKilled) {
  const Heard heard = interrupted("trap 'echo ready' INT; echo ready; while :; do sleep 0.05; done", SIGINT,
                                  std::chrono::milliseconds(50));
  EXPECT_EQ(heard.end.signal, SIGKILL);
  EXPECT_THAT(heard.out, HasSubstr("ready\nready\n")) << "after the first signal it may go on";
}

TEST(ChildProcess, TheFirstSignalCanBeAnother) {
  const Heard heard = interrupted(
      "trap 'echo asked; echo ready' USR1; trap 'exit 4' TERM; echo ready; while :; do sleep 0.05; done",
      SIGTERM, std::chrono::seconds(60), SIGUSR1);
  EXPECT_EQ(heard.end.code, 4);
  EXPECT_THAT(heard.out, HasSubstr("ready\nasked\nready\n"));
}

// It says when it has begun; before that the first signal ends it, and it may not take for ever.
TEST(ChildProcess, BeforeItHasBegunTheFirstSignalEndsIt) {
  bool begun = false;
  ChildProcess child{.program = "sh",
                     .arguments = {"-c", "trap 'exit 4' TERM; trap 'exit 5' USR1; echo ready; while :; do sleep 0.05; done"},
                     .on_output = [](std::string_view) { ::kill(::getpid(), SIGINT); },
                     .on_error = {},
                     .first_signal = SIGUSR1,
                     .patience = std::chrono::seconds(60),
                     .has_begun = [&] { return begun; }};
  const ChildEnd end = run_child(child);
  EXPECT_EQ(end.code, 4);
  EXPECT_EQ(end.forwarded, SIGINT);
  EXPECT_FALSE(end.too_late);
  begun = true;
  EXPECT_EQ(run_child(child).code, 5);
}

TEST(ChildProcess, OneThatDoesNotBeginIsKilled) {
  const ChildEnd end = run_child({.program = "sh",
                                  .arguments = {"-c", "while :; do sleep 0.05; done"},
                                  .on_output = {},
                                  .on_error = {},
                                  .has_begun = [] { return false; },
                                  .begin_within = std::chrono::milliseconds(20)});
  EXPECT_TRUE(end.too_late);
  EXPECT_EQ(end.signal, SIGKILL);
}

TEST(ChildProcess, ItHasVariablesOfItsOwn) {
  std::string out;
  run_child({.program = "sh",
             .arguments = {"-c", "echo $ORRERY_TEST_WORD ${PATH:+path}"},
             .on_output = [&](std::string_view text) { out += text; },
             .on_error = {},
             .environment = {"ORRERY_TEST_WORD=a=b"}});
  EXPECT_EQ(out, "a=b path\n");
}

TEST(ChildProcess, TheSignalMaskIsAsItWas) {
  hear("exit 0");
  sigset_t mask;
  ::sigprocmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_EQ(::sigismember(&mask, SIGINT), 0);
  EXPECT_EQ(::sigismember(&mask, SIGCHLD), 0);
}

// Grandchildren: one in the child's group, one that made a session of its own.
TEST(ChildProcess, LeavesNoProcessBehind) {
  const Heard heard = hear(
      "sleep 1000 >/dev/null 2>&1 & echo $!; setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' & "
      "while [ \"$(ps -o comm= -p $!)\" != sleep ]; do :; done; exit 5");
  EXPECT_EQ(heard.end.code, 5);
  std::istringstream processes(heard.out);
  int count = 0;
  for (pid_t process = 0; processes >> process; ++count) EXPECT_FALSE(is_alive(process)) << process;
  EXPECT_EQ(count, 2) << heard.out;
}

TEST(ChildProcess, OwnChildrenOfTheCallerAreLeftAlone) {
  const pid_t mine = ::fork();
  if (mine == 0) {
    ::execlp("sleep", "sleep", "1000", nullptr);
    ::_exit(1);
  }
  hear("exit 0");
  EXPECT_TRUE(is_alive(mine));
  ::kill(mine, SIGKILL);
  ::waitpid(mine, nullptr, 0);
}

TEST(ChildProcess, ProgramsAreFoundInThePath) {
  EXPECT_THAT(find_program("sh"), HasSubstr("/sh"));
  EXPECT_EQ(find_program("no-such-program-anywhere"), "");
  EXPECT_EQ(find_program("/no/such/program"), "");
  EXPECT_EQ(find_program("/tmp"), "") << "a folder is none";
  EXPECT_THAT(own_program(), HasSubstr("base_test"));
}

}  // namespace
}  // namespace orrery
