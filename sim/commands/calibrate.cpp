// `calibrate`: measures this machine with orrery-rt, which declares the options, and writes the hardware files that scenarios
// name.
#include "sim/commands/command.h"
#include "sim/commands/runtime_program.h"

namespace orrery::sim {

Action declare_calibrate(CLI::App& app) {
  app.prefix_command();
  return [&app](Output& out) {
    std::vector<std::string> words = app.remaining();
    words.insert(words.begin(), "calibrate");
    out.flush();  // what comes before the child's output
    return run_runtime(words);
  };
}

}  // namespace orrery::sim
