// The table of commands, and what is made of it: the parser, the help, the reference.
#include "sim/commands/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/diagnostics.h"
#include "base/option_values.h"
#include "base/option_words.h"

namespace orrery::sim {
namespace {

constexpr std::string_view kAbout =
    "Orrery predicts distributed training of large models: does a plan fit, how fast is it, where does the "
    "time go, and "
    "how sure is that?";

constexpr std::string_view kExitCodes =
    "Exit codes: 0 fine; 1 the answer is no (deadlock, does not fit); 2 the input is wrong; 3 the "
    "surroundings failed.";

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
  std::string help = "orrery --help", message = error.what();
  for (const CLI::App* sub : app.get_subcommands()) {
    help = "orrery " + sub->get_name() + " --help";
    if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) continue;
    std::vector<std::string> names;
    for (const CLI::Option* option : sub->get_options()) names.push_back(option->get_name());
    const UnknownOption unknown = unknown_option(app.remaining(true), names);
    message = unknown.message;
    if (!unknown.hint.empty()) help = unknown.hint;
  }
  throw InputError(fmt::format("error: {}\n  hint: {}\n", message, help));
}

// The parser would say that a command is missing.
void check_name(const std::string& word) {
  if (word.empty() || word.front() == '-') return;
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  if (std::find(names.begin(), names.end(), word) != names.end()) return;
  const std::string near = nearest_word(word, names);
  throw InputError(
      fmt::format("error: there is no command \"{}\"\n  hint: {}\n", word,
                  near.empty() ? "orrery --help lists them" : fmt::format("did you mean \"{}\"?", near)));
}

std::string more_help(const std::string& name) {
  for (const Command& command : commands())
    if (command.name == name && command.more_help != nullptr) return "\n" + command.more_help();
  return {};
}

// Those that start orrery-rt.
std::vector<Command> performing_commands() {
  return {
      {"execute",
       "Perform scenarios on this machine with orrery-rt: real kernels, messages and optimizer; losses, tokens/s, a trace.",
       {{"orrery execute --help", "its options, and those of orrery-rt"}},
       declare_execute,
       execute_help},
      {"calibrate",
       "Measure this machine with orrery-rt, and write the hardware files that scenarios name (docs/reference/calibrate.md).",
       {{"orrery calibrate --help", "its options, which are those of orrery-rt calibrate"}},
       declare_calibrate,
       calibrate_help},
      {"validate",
       "Hold predictions against measurements: published runs, or with --execute this machine.",
       {{"orrery validate --help", "its options; validation/cpu holds scenarios for two cores, validation/runs published runs"}},
       declare_validate}};
}

std::vector<Command> predicting_commands() {
  return {
      {"run",
       "Predict one training step: fit, time, memory, where they go, and how sure that is.",
       {{"orrery run scenarios/quickstart.json", "the report"},
        {"orrery run scenarios/7b-8gpu.json --explain",
         "each headline number with its formula, inputs and source"},
        {"orrery run scenarios/7b-8gpu.json --set training.micro_batch=1 --json",
         "one field changed, as JSON"},
        {"orrery run scenarios/7b-8gpu.json --trace 7b.json", "a trace for https://ui.perfetto.dev"},
        {"orrery run scenarios/quickstart.json --save-trace quickstart.trace",
         "a trace to compare with one that was measured"},
        {"orrery run scenarios/quickstart.json --tokens 300e9",
         "steps, hours and GPU-hours to that many tokens"}},
       declare_run},
      {"compare",
       "Put scenarios side by side, and predicted beside measured where a scenario has measurements.",
       {{"orrery compare scenarios/mt-nlg-530b-280.json scenarios/mt-nlg-530b-420.json", "two scenarios"},
        {"orrery compare scenarios/korthikanti/22b-*.json --csv", "one row each, for a spreadsheet"},
        {"orrery compare --measured quickstart.trace scenarios/quickstart.json",
         "every op of a trace (here one that `run` saved) beside what is predicted of it"}},
       declare_compare},
      {"explain",
       "Why a step takes as long as it does: where it goes, what a faster machine would give, where two scenarios differ.",
       {{"orrery explain scenarios/7b-8gpu.json", "each resource twice as fast, by simulation"},
        {"orrery explain scenarios/megatron-sc21/175b-768.json", "with a measurement: which unstated setting would close the gap"},
        {"orrery explain scenarios/mt-nlg-530b-280.json scenarios/mt-nlg-530b-420.json", "what makes the difference"}},
       declare_explain},
      {"sweep",
       "Predict every combination of values of any scenario fields.",
       {{"orrery sweep scenarios/7b-8gpu.json --set training.micro_batch=1,2,4 --set parallel.zero=1,2,3",
         "nine combinations; illegal ones are listed with their reason"},
        {"orrery sweep scenarios/7b-8gpu.json --set training.recompute=none,full --output 7b.csv",
         "row by row into a file; the same command goes on where it was stopped"}},
       declare_sweep},
      {"check",
       "Is a plan legal, is its schedule sound, does it fit?",
       {{"orrery check scenarios/quickstart.json", "a scenario"},
        {"orrery check scenarios/175b-8xa100-40g.json || echo no", "exit code 1: legal, but does not fit"}},
       declare_check},
      {"model",
       "Parameters, FLOPs per token and memory per layer of a model file or a Hugging Face config.json.",
       {{"orrery model models/zoo/llama-2-7b.json", "a model of the zoo"},
        {"orrery model models/zoo/gpt3-175b.json --sequence 2048 --micro-batch 1 --json", "as JSON"}},
       declare_model},
      {"schedule",
       "Print the compiled schedule as text, in blocks or unrolled for one rank; read one back and verify "
       "it.",
       {{"orrery schedule scenarios/3b-1gpu.json > 3b.schedule", "in blocks"},
        {"orrery schedule scenarios/3b-1gpu.json --rank 0 | head", "what rank 0 does, op by op"},
        {"orrery schedule --read 3b.schedule", "verify a schedule text file"}},
       declare_schedule},
      {"cluster",
       "Topology of a cluster, bandwidth and path between GPUs, times of collectives.",
       {{"orrery cluster hardware/clusters/dgx-h100.json", "links, and bandwidth between any two GPUs"},
        {"orrery cluster hardware/clusters/a100-80g-16x8.json --from 0 --to 9", "the path of a transfer"},
        {"orrery cluster hardware/clusters/dgx-h100.json --collective all_reduce --size \"1 GiB\"",
         "time, algbw and busbw, with NCCL's choice of algorithm and protocol"}},
       declare_cluster},
      {"completion",
       "Print a completion script for a shell.",
       {{"orrery completion bash > orrery.bash",
         "then `source orrery.bash`, or put it where bash looks for completions"},
        {"orrery completion fish > orrery.fish", "the same for fish; zsh: a file named _orrery in $fpath"}},
       declare_completion}};
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> both = predicting_commands();
    for (Command& command : performing_commands()) both.push_back(std::move(command));
    return both;
  }();
  return all;
}

int run_program(int argc, const char* const* argv, Output& out) {
  if (argc > 1) check_name(argv[1]);
  Parser parser;
  try {
    parser.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = parser.app.get_subcommands();
    out.write(chosen.empty() ? parser.app.help() : chosen.front()->help("orrery") + more_help(chosen.front()->get_name()));
    return kFine;
  } catch (const CLI::CallForVersion&) {
    out.line("orrery " ORRERY_VERSION);
    return kFine;
  } catch (const CLI::ParseError& error) {
    refuse(parser.app, error);
  }
  for (const CLI::App* sub : parser.app.get_subcommands()) refuse_empty_values(*sub);
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
    text += fmt::format("{}## orrery {}\n\n```text\n{}```\n", i == 0 ? "" : "\n", command.name,
                        sub.help("orrery"));
    for (const Example& example : command.examples)
      text += fmt::format("\n{}:\n\n```console\n$ {}\n...\n```\n", example.says, example.command);
  }
  return text;
}

}  // namespace orrery::sim
