#include "sim/commands/command.h"

#include <fmt/format.h>

#include <utility>

#include "base/diagnostics.h"

namespace orrery::sim {
namespace {

constexpr std::string_view kAbout =
    "Orrery predicts distributed training of large models: does a plan fit, how fast is it, where does the time go, and "
    "how sure is that?";

constexpr std::string_view kExitCodes =
    "Exit codes: 0 fine; 1 the answer is no (deadlock, does not fit); 2 the input is wrong; 3 the surroundings failed.";

std::string footer_of(const Command& command) {
  std::string text = "Examples:\n";
  for (const Example& example : command.examples)
    text += fmt::format("  {}\n      {}\n", example.command, example.says);
  return text + "\n" + std::string(kExitCodes) + "\n";
}

struct Parser {
  CLI::App app{std::string(kAbout), "orrery"};
  std::vector<std::pair<CLI::App*, Action>> actions;

  Parser() {
    app.set_version_flag("--version", "orrery " ORRERY_VERSION);
    app.require_subcommand(1);
    app.get_formatter()->column_width(28);
    app.footer("`orrery COMMAND --help` shows its options and examples.\n" + std::string(kExitCodes) + "\n");
    for (const Command& command : commands()) {
      CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.help));
      actions.emplace_back(sub, command.declare(*sub));
      sub->footer(footer_of(command));
    }
  }
};

[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  std::string help = "orrery --help";
  for (const CLI::App* sub : app.get_subcommands()) help = "orrery " + sub->get_name() + " --help";
  throw InputError(fmt::format("error: {}\n  hint: {}\n", error.what(), help));
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"run",
       "Predict one training step: fit, time, memory, where they go, and how sure that is.",
       {{"orrery run scenarios/quickstart.json", "the report"},
        {"orrery run scenarios/7b-8gpu.json --explain", "each headline number with its formula, inputs and source"},
        {"orrery run scenarios/7b-8gpu.json --set training.micro_batch=1 --json", "one field changed, as JSON"},
        {"orrery run scenarios/7b-8gpu.json --trace 7b.json", "a trace for https://ui.perfetto.dev"},
        {"orrery run scenarios/quickstart.json --tokens 300e9", "steps, hours and GPU-hours to that many tokens"}},
       declare_run},
      {"compare",
       "Put scenarios side by side, and predicted beside measured where a scenario has measurements.",
       {{"orrery compare scenarios/mt-nlg-530b-280.json scenarios/mt-nlg-530b-420.json", "two scenarios"},
        {"orrery compare scenarios/korthikanti/*.json --csv", "one row each, for a spreadsheet"}},
       declare_compare},
  };
  return all;
}

int run_program(int argc, const char* const* argv, Output& out) {
  Parser parser;
  try {
    parser.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = parser.app.get_subcommands();
    out.write(chosen.empty() ? parser.app.help() : chosen.front()->help());
    return kFine;
  } catch (const CLI::CallForVersion&) {
    out.line("orrery " ORRERY_VERSION);
    return kFine;
  } catch (const CLI::ParseError& error) {
    refuse(parser.app, error);
  }
  for (const auto& [sub, action] : parser.actions)
    if (parser.app.got_subcommand(sub)) return action(out);
  return kFine;
}

std::string render_commands() {
  Parser parser;
  std::string text;
  for (std::size_t i = 0; i < commands().size(); ++i) {
    const Command& command = commands()[i];
    CLI::App& sub = *parser.actions[i].first;
    sub.footer("");
    text += fmt::format("{}## orrery {}\n\n```text\n{}```\n", i == 0 ? "" : "\n", command.name, sub.help());
    for (const Example& example : command.examples)
      text += fmt::format("\n{}:\n\n```console\n$ {}\n...\n```\n", example.says, example.command);
  }
  return text;
}

}  // namespace orrery::sim
