// What every command is: a name, a line of help, examples, its options, and what runs. One file per command;
// the table in commands.cpp lists them all, and the help, the shell completion and docs/reference/commands.md
// are made from it.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/commands/output.h"

namespace orrery::sim {

// Exit codes (docs/reference/commands.md).
enum Exit : int {
  kFine = 0,
  kNo = 1,           // the answer is no: deadlock, does not fit
  kWrongInput = 2,   // unreadable or illegal; no time is printed
  kWorldFailed = 3,  // the surroundings, or Orrery itself
};

using Action = std::function<int(Output&)>;

struct Example {
  std::string_view command;
  std::string_view says;
};

struct Command {
  std::string_view name;
  std::string_view help;
  std::vector<Example> examples;
  Action (*declare)(CLI::App& app);  // declares the options; the action reads them after parsing
  std::string (*more_help)() = nullptr;  // what is behind its help that is known only when the program runs
};

const std::vector<Command>& commands();

// One declaration per command, in the file of its name.
Action declare_run(CLI::App& app);
Action declare_compare(CLI::App& app);
Action declare_sweep(CLI::App& app);
Action declare_check(CLI::App& app);
Action declare_model(CLI::App& app);
Action declare_schedule(CLI::App& app);
Action declare_cluster(CLI::App& app);
Action declare_execute(CLI::App& app);
Action declare_calibrate(CLI::App& app);
Action declare_validate(CLI::App& app);
Action declare_explain(CLI::App& app);
Action declare_completion(CLI::App& app);

std::string execute_help();  // the options of orrery-rt, as it prints them
std::string calibrate_help();  // likewise

// The program: parses, runs one command, returns its exit code. Throws what the command throws.
int run_program(int argc, const char* const* argv, Output& out);

// docs/reference/commands.md between its markers.
std::string render_commands();

}  // namespace orrery::sim
