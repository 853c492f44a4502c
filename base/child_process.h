// Starts another program, waits for it, and leaves nothing of it behind.
//
//  - No shell: a program and its arguments.
//  - It runs in a process group of its own, with an empty standard input. SIGINT, SIGTERM and SIGHUP are
//    forwarded to the group while it runs (Ctrl-C reaches only us, since a terminal signals its foreground
//    group). The first is a wish, and the child may take its time; some time after the second it is killed.
//  - When it has ended, what is left of its group and every process that it started and abandoned is killed:
//    we adopt them (Linux: PR_SET_CHILD_SUBREAPER), so they are found. If we are killed ourselves, it gets
//    SIGTERM (PR_SET_PDEATHSIG).
//
// Not for several at once in one process: signals and orphans are the whole process's. Linux only.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

struct ChildProcess {
  std::string program;  // a path, or a name that is looked for in $PATH
  std::vector<std::string> arguments;
  // Called with what the child writes to that output, as it comes; empty: the child writes to our own.
  std::function<void(std::string_view)> on_output, on_error;
  std::vector<std::string> environment = {};   // "NAME=value" each, added to ours
  int first_signal = 0;                        // what is sent in place of the first one; 0: that itself
  std::chrono::milliseconds patience{10'000};  // from the second signal until it is killed
  // Asked after everything that it writes: whether it has begun what it is for. Before that there is nothing to
  // finish, so the first signal counts as the second and is SIGTERM, and who does not begin in time is killed. Empty:
  // it has begun.
  std::function<bool()> has_begun = {};
  std::chrono::milliseconds begin_within{120'000};
};

struct ChildEnd {
  int code = 0;       // where it ended by itself
  int signal = 0;     // that ended it; 0: none did
  int forwarded = 0;  // the first signal that we got and passed on; 0: none
  bool too_late = false;  // killed since it had not begun in time
};

// Throws WorldError where it cannot be started ("orrery-rt: cannot be started: No such file or directory").
ChildEnd run_child(const ChildProcess& child);

// The first executable of that name in $PATH; empty where there is none.
std::string find_program(const std::string& name);

// The file that this process was started from.
std::string own_program();

}  // namespace orrery
