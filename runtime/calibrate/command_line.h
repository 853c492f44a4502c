// `orrery-rt calibrate [SCENARIO...]`: measures this machine, prints what was found, and writes the hardware
// files that scenarios name. docs/reference/calibrate.md.
#pragma once

namespace orrery::runtime {

// `arguments` begin with "calibrate". Returns the exit code. Throws InputError and WorldError.
int calibrate_command_line(int argc, char** argv);

}  // namespace orrery::runtime
