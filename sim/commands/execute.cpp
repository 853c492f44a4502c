// `execute`: performs scenarios on this machine. It starts orrery-rt, which stands beside this program,
// itself or through mpirun, and passes on its output, its exit code and our arguments.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/check.h"
#include "base/child_process.h"
#include "sim/commands/command.h"
#include "sim/commands/execute_arguments.h"
#include "sim/commands/mpirun_words.h"
#include "sim/commands/runtime_program.h"
#include "sim/commands/scenario_files.h"

namespace orrery::sim {
namespace {

constexpr std::chrono::seconds kStartWithin{120};

struct Performed {
  int code = kFine;
  bool interrupted = false;
};

Performed perform_as_threads(const std::string& runtime, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin() + 1, {"--backend", "threads"});
  const ChildEnd end =
      run_child({.program = runtime, .arguments = std::move(arguments), .on_output = {}, .on_error = {}});
  return {exit_code_of("orrery-rt", end), end.forwarded != 0};
}

// Its output passes through us: mpirun does not bear it that nobody reads.
Performed perform_as_processes(const std::string& runtime, std::vector<std::string> arguments, std::int64_t ranks,
                               Output& out) {
  if (find_program("mpirun").empty())
    throw WorldError("mpirun is not in $PATH; install Open MPI, or use --ranks-as threads");
  arguments.insert(arguments.begin() + 1, {"--backend", "mpi"});
  MpirunWords words([](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  });
  const MpiRun of{.ranks = ranks,
                  .cores = std::max(1U, std::thread::hardware_concurrency()),
                  .is_root = ::geteuid() == 0};
  const ChildEnd end =
      run_child({.program = "mpirun",
                 .arguments = mpirun_arguments(of, runtime, arguments),
                 .on_output =
                     [&](std::string_view text) {
                       out.write(text);
                       out.flush();
                     },
                 .on_error = [&](std::string_view text) { words.take(text); },
                 .environment = {fmt::format("ORRERY_EXECUTE={}", ::getpid())},
                 .first_signal = SIGUSR1,  // mpirun hands that on to the ranks; SIGINT would kill them
                 .has_begun = [&] { return words.ranks_started(); },
                 .begin_within = kStartWithin});
  words.finish();
  if (end.too_late)
    throw WorldError(fmt::format("mpirun has not started the ranks within {} s; does `mpirun -n {} true` end?",
                                 kStartWithin.count(), ranks));
  if (end.forwarded != 0 && !words.ranks_started() && !words.said_error())
    throw WorldError("interrupted before the ranks had started");
  return {exit_code_of("mpirun", end, words.said_error(), words.death()), end.forwarded != 0};
}

// Options whose file or document would be written again by each scenario.
void refuse_for_several(const ExecuteArguments& a) {
  if (a.scenarios.size() < 2) return;
  for (const char* option : {"--save-trace", "--json", "--save", "--resume", "--emulate"})
    for (const std::string& word : a.passed)
      if (word == option || word.starts_with(std::string(option) + "="))
        throw InputError(
            fmt::format("error: {} takes one scenario\n  hint: execute each by itself\n", option));
}

int execute(const ExecuteArguments& a, Output& out) {
  refuse_for_several(a);
  const std::vector<scenarios::Scenario> scenarios = load_scenarios({a.scenarios, a.sets});
  const std::string runtime = require_runtime();
  int worst = kFine;
  out.flush();  // what comes before the child's output
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    std::vector<std::string> arguments = {a.scenarios[i]};
    arguments.insert(arguments.end(), a.passed.begin(), a.passed.end());
    const Performed performed = a.ranks_as == RanksAs::mpi
                                    ? perform_as_processes(runtime, arguments, scenarios[i].parallel.world(), out)
                                    : perform_as_threads(runtime, arguments);
    worst = std::max(worst, performed.code);
    if (performed.interrupted) break;
  }
  return worst;
}

// "Usage: orrery execute SCENARIO... [OPTIONS]": the files are not declared, since options of orrery-rt stand
// behind them.
class UsageWithScenario : public CLI::Formatter {
 public:
  UsageWithScenario() { column_width(28); }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    const std::size_t options = usage.find(" [OPTIONS]");
    if (options != std::string::npos)
      usage.replace(options, 10, " SCENARIO... [OPTIONS] [OPTIONS OF orrery-rt]");
    return usage;
  }
};

}  // namespace

Action declare_execute(CLI::App& app) {
  const auto ranks_as = std::make_shared<std::string>();
  app.prefix_command();
  app.formatter(std::make_shared<UsageWithScenario>());
  app.add_option("--ranks-as", *ranks_as,
                 "Ranks are threads of one process (the default), or processes (through mpirun)")
      ->type_name("threads|mpi");
  return [ranks_as, &app](Output& out) {
    std::vector<std::string> words = app.remaining();
    if (!ranks_as->empty()) words.insert(words.begin(), "--ranks-as=" + *ranks_as);
    const ExecuteArguments arguments = parse_execute(words);
    if (!arguments.help) return execute(arguments, out);
    out.write(app.help("orrery") + "\n" + execute_help());
    return static_cast<int>(kFine);
  };
}

}  // namespace orrery::sim
