// The program `orrery-rt`, which performs schedules and calibrates: it stands beside this one, or $ORRERY_RT names it.
#pragma once

#include <string>
#include <vector>

#include "base/child_process.h"

namespace orrery::sim {

// Empty: there is none.
std::string runtime_program();

// Throws WorldError where there is none.
std::string require_runtime();

// Runs it with these arguments, its output going where ours goes. Its exit code (exit_code_of).
int run_runtime(const std::vector<std::string>& arguments);

// The exit code of ours that the end of `program` means: its own where that is one that it documents (0, 2, 3), else
// kWorldFailed, and what happened is said, unless `said_error` (it has said so itself). `death`: how a rank ended, where
// mpirun told; said in place of that.
int exit_code_of(const std::string& program, const ChildEnd& end, bool said_error = false, const std::string& death = {});

}  // namespace orrery::sim
