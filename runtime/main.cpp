// The `orrery-rt` command: performs a scenario's schedule on this machine. Ranks are threads of this process, or this is one
// of the processes that mpirun or srun started. `orrery-rt calibrate` measures the machine instead. Exit codes as orrery's:
// 0 fine, 2 the input is wrong, 3 the surroundings failed (a rank died, stalled or disagreed).
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/diagnostics.h"
#include "base/output.h"
#include "runtime/calibrate/command_line.h"
#include "runtime/run/command_line.h"

int main(int argc, char** argv) {
  namespace runtime = orrery::runtime;
  std::signal(SIGPIPE, SIG_IGN);  // a write that fails is an error at its place, not a death without a word
  std::signal(SIGXFSZ, SIG_IGN);
  const auto say = [](const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  try {
    if (argc > 1 && std::string_view(argv[1]) == "calibrate") return runtime::calibrate_command_line(argc, argv);
    return runtime::run_command_line(argc, argv);
  } catch (const orrery::ReaderGone&) {
    return 3;
  } catch (const orrery::InputError& error) {
    say(error.what());
    return 2;
  } catch (const orrery::WorldError& error) {
    say(fmt::format("error: {}\n", error.what()));
  } catch (const std::bad_alloc&) {
    say("error: out of memory\n");
  } catch (const std::exception& error) {
    say(fmt::format("error: the runtime itself failed; please report this with the command and its files\n  {}\n", error.what()));
  }
  return 3;
}
