#include "sim/commands/runtime_program.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/child_process.h"
#include "sim/commands/command.h"

namespace orrery::sim {

std::string runtime_program() {
  if (const char* named = std::getenv("ORRERY_RT")) return named;
  const std::string beside = (std::filesystem::path(own_program()).parent_path() / "orrery-rt").string();
  return find_program(beside);
}

std::string require_runtime() {
  std::string program = runtime_program();
  if (program.empty())
    throw WorldError("orrery-rt, which performs schedules, is not beside this program; build it, or name it in $ORRERY_RT");
  return program;
}

namespace {

std::string help_of(std::vector<std::string> arguments) {
  const std::string runtime = runtime_program();
  if (runtime.empty()) return "orrery-rt is not beside this program; its options are not known.\n";
  std::string help = "Options of orrery-rt, which are passed on:\n\n";
  arguments.emplace_back("--help");
  run_child({.program = runtime,
             .arguments = std::move(arguments),
             .on_output = [&](std::string_view text) { help += text; },
             .on_error = {}});
  return help;
}

}  // namespace

std::string execute_help() { return help_of({}); }
std::string calibrate_help() { return help_of({"calibrate"}); }

int run_runtime(const std::vector<std::string>& arguments) {
  return exit_code_of(
      "orrery-rt", run_child({.program = require_runtime(), .arguments = arguments, .on_output = {}, .on_error = {}}));
}

int exit_code_of(const std::string& program, const ChildEnd& end, bool said_error, const std::string& death) {
  if (end.signal == 0 && (end.code == kFine || end.code == kWrongInput || end.code == kWorldFailed))
    return end.code;
  if (said_error) return kWorldFailed;
  if (!death.empty()) {
    say(fmt::format("error: {}", death));
  } else if (end.forwarded != 0) {
    say(fmt::format("error: {}: {}", program, ::strsignal(end.forwarded)));
  } else if (end.signal != 0) {
    say(fmt::format("error: {} was ended by signal {} ({})", program, end.signal, ::strsignal(end.signal)));
  } else {
    say(fmt::format("error: {} ended with exit code {}", program, end.code));
  }
  return kWorldFailed;
}

}  // namespace orrery::sim
