// `orrery-rt SCENARIO ...`: reads the command line and the scenario, runs, prints, writes the trace.
#pragma once

namespace orrery::runtime {

// Returns the exit code. Throws InputError and WorldError.
int run_command_line(int argc, char** argv);

}  // namespace orrery::runtime
