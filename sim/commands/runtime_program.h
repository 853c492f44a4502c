// The program `orrery-rt`, which performs schedules and calibrates: it stands beside this one, or $ORRERY_RT names it.
#pragma once

#include <string>
#include <vector>

namespace orrery::sim {

// Empty: there is none.
std::string runtime_program();

// Throws WorldError where there is none.
std::string require_runtime();

// Runs it with these arguments, its output going where ours goes. Its exit code; a signal that ended it is kWorldFailed.
int run_runtime(const std::vector<std::string>& arguments);

}  // namespace orrery::sim
