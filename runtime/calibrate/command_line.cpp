#include "runtime/calibrate/command_line.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/check.h"
#include "base/diagnostics.h"
#include "base/directories.h"
#include "base/option_values.h"
#include "base/option_words.h"
#include "base/output.h"
#include "base/quantile.h"
#include "base/random.h"
#include "runtime/calibrate/calibration_report.h"
#include "runtime/calibrate/default_scenarios.h"
#include "runtime/calibrate/hardware_files.h"
#include "runtime/calibrate/kernel_phase.h"
#include "runtime/calibrate/scenario_grid.h"
#include "runtime/calibrate/walk_measurer.h"
#include "runtime/machine/memory.h"

namespace orrery::runtime {
namespace {

struct Options {
  std::vector<std::string> scenarios, sets;
  std::int64_t ranks = 0;  // 0: of the largest scenario, or the cores
  bool quick = false, resume = false;
  std::string output = ".", name = "this-machine";
};

// Seconds of each phase, and of one visit in it. They and what lies between come to less than a minute, or
// ten.
struct Plan {
  double machine_s = 0.0;
  PhaseLimits kernels;
  TransferLimits transfers;
  std::int64_t largest_message = 0;
};
Plan plan_of(bool quick) {
  if (quick)
    return {3.0,
            {.budget_s = 24.0, .visit = {.busy_s = 0.1, .alone_s = 0.05}, .most_passes = 3, .settled = 0.02},
            {.budget_s = 14.0, .visit_s = 0.4, .most_passes = 3, .settled = 0.05},
            std::int64_t{4} << 20};
  return {10.0,
          {.budget_s = 330.0, .visit = {.busy_s = 0.3, .alone_s = 0.15}},
          {.budget_s = 110.0},
          std::int64_t{64} << 20};
}

std::atomic<bool> stopped{false};
void on_signal(int) {
  if (stopped.load()) std::_Exit(3);
  stopped.store(true);
}

void declare(CLI::App& app, Options& o) {
  app.add_option("SCENARIO", o.scenarios,
                 "Scenarios whose kernels and messages are measured, and sizes around them; default: three "
                 "small models")
      ->type_name("");
  app.add_option("--set", o.sets, "Set a field of each scenario: path=value (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app.add_option("--ranks", o.ranks,
                 "Ranks of the node; default: those of the largest scenario, or the cores")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, kMostRanks));
  app.add_flag("--quick", o.quick,
               "Less than a minute: fewer sizes, fewer repetitions; default: less than ten minutes");
  app.add_option("--output", o.output, "Directory of the files; made where it is not there")
      ->type_name("DIR");
  app.add_option("--name", o.name,
                 "NAME.json is the cluster that scenarios name; beside it NAME.gpu.json, NAME.kernels.json, "
                 "NAME.transfers.json")
      ->type_name("NAME");
  app.add_flag("--resume", o.resume,
               "Keep what a calibration with the same options has measured, also a finished one, and measure "
               "what is missing");
}

std::string options_text(const Options& o) {
  std::string text = o.quick ? "--quick" : "";
  for (const std::string& set : o.sets) text += fmt::format("{}--set {}", text.empty() ? "" : " ", set);
  for (const std::string& scenario : o.scenarios)
    text += fmt::format("{}{}", text.empty() ? "" : " ", scenario);
  return text;
}

std::string id_of(const Options& o, const Grid& grid, const Machine& machine, std::int64_t ranks) {
  std::uint64_t hash = grid.fingerprint;
  const auto absorb = [&](std::uint64_t word) { hash = mix_bits(hash ^ (word + 0x9E3779B97F4A7C15ULL)); };
  for (const char c : machine.processor) absorb(static_cast<unsigned char>(c));
  absorb(program_identity());
  for (const std::int64_t word : {machine.usable_cores(), ranks, std::int64_t{o.quick}})
    absorb(static_cast<std::uint64_t>(word));
  return fmt::format("{:016x}", hash);
}

// Of the scenarios, and of the usual ones among as many ranks as can be there.
std::set<Exchange> exchanges_of(const Grid& grid, std::int64_t ranks, bool quick) {
  using hardware::TransferOperation;
  std::set<Exchange> all = grid.transfers;
  if (ranks < 2) return all;
  all.emplace(TransferOperation::send_recv, 2);
  for (std::int64_t n = 2; n <= ranks; n *= 2) {
    for (const auto operation :
         {TransferOperation::all_reduce, TransferOperation::reduce_scatter, TransferOperation::all_gather})
      all.emplace(operation, n);
    if (!quick) all.insert({{TransferOperation::all_to_all, n}, {TransferOperation::broadcast, n}});
  }
  return all;
}

void print(const std::string& text) {
  Output out(stdout);
  out.write(text);
  out.flush();
}

class Calibrating {
 public:
  explicit Calibrating(const Options& o)
      : o_(o), machine_(this_machine()), plan_(plan_of(o.quick)), progress_(true) {}

  int run() {
    make_directories(o_.output);
    progress_.phase("reading scenarios and what is around them");
    const Grid grid = make_grid(request());
    require_something(grid);
    const std::int64_t ranks =
        o_.ranks > 0 ? o_.ranks : std::max(grid.world, o_.scenarios.empty() ? machine_.usable_cores() : 1);
    if (grid.world > kMostRanks)
      throw InputError(
          fmt::format("error: a scenario has {} ranks, and one node at most {}\n", grid.world, kMostRanks));
    const std::int64_t busy = std::min(ranks, machine_.usable_cores());
    const std::string journal_path = fmt::format("{}/{}.journal", o_.output, o_.name);
    Journal journal(journal_path, id_of(o_, grid, machine_, ranks),
                    o_.resume ? JournalUse::keep : JournalUse::begin_anew);
    Calibration c{.name = o_.name, .machine = machine_, .ranks = ranks, .busy_ranks = busy};
    progress_.phase(fmt::format("the machine: products, copies, what an op costs; about {:.0f} s", plan_.machine_s));
    c.numbers = machine_numbers(busy, plan_.machine_s, journal, stopped, progress_);
    KernelPhase kernels(grid.workloads, journal);
    WalkMeasurer walks(busy, stopped);
    progress_.phase(fmt::format("kernels of {} steps, up to {:.0f} s", grid.workloads.size(), plan_.kernels.budget_s));
    kernels.run(walks, plan_.kernels, steady_seconds, stopped, progress_);
    TransferPhase transfers(exchanges_of(grid, ranks, o_.quick), largest_message(ranks), journal);
    ProbeMeasurer probes;
    if (ranks > 1) progress_.phase(fmt::format("messages among ranks, up to {:.0f} s", plan_.transfers.budget_s));
    transfers.run(probes, plan_.transfers, steady_seconds, stopped, progress_);
    if (stopped.load()) return say_stopped(journal_path);
    finish(grid, kernels, transfers, c);
    journal.finish();
    return 0;
  }

 private:
  GridRequest request() const {
    const std::int64_t ranks = o_.ranks > 0 ? o_.ranks : machine_.usable_cores();
    return {.files = o_.scenarios,
            .sets = o_.sets,
            .ranks = std::min(ranks, kMostRanks),
            .cache_bytes = 4 * std::max(machine_.l3_bytes, machine_.l2_bytes) /
                           std::max<std::int64_t>(1, machine_.usable_cores()),
            .most_bytes = machine_.memory_bytes / 2 / machine_.usable_cores()};
  }

  void require_something(const Grid& grid) const {
    if (!grid.workloads.empty()) return;
    throw WorldError(fmt::format("no scenario fits into this machine's memory, {}: {}\n  hint: {}", gibibytes(machine_.memory_bytes),
                                 fmt::join(grid.too_large, ", "), kMemoryHint));
  }

  // Two buffers of it on every rank take at most a quarter of the memory.
  std::int64_t largest_message(std::int64_t ranks) const {
    return std::min(plan_.largest_message, machine_.memory_bytes / 8 / std::max<std::int64_t>(1, ranks));
  }

  static int say_stopped(const std::string& journal) {
    fmt::print(stderr, "\nstopped; what was measured is in {}: the same command goes on\n", journal);
    return 3;
  }

  void finish(const Grid& grid, const KernelPhase& kernels, const TransferPhase& transfers, Calibration& c) {
    hardware::Provenance from{.machine = words(machine_),
                              .date = fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(std::time(nullptr))),
                              .program = "orrery-rt " ORRERY_VERSION " calibrate",
                              .options = options_text(o_),
                              .notes = {}};
    c.kernels.kernels = measured_kernels(kernels.kernels(), c.busy_ranks);
    c.kernels.op_overhead = Duration::from_seconds_up(c.numbers.op_overhead_s);
    c.kernels.busy_ranks = c.busy_ranks;
    c.kernels.contention = contention_of(c.kernels.kernels);
    c.transfers.curves = measured_curves(transfers.curves());
    const Visits visits{.workloads = grid.workloads.size(),
                        .visited = kernels.visited(),
                        .visits = kernels.visits(),
                        .uncertainty = typical_uncertainty(grid, kernels),
                        .coverage = coverage_of(grid, kernels, transfers)};
    add_notes(grid, visits, from, c);
    write_files(o_.output, hardware_files(c));
    const std::string report = calibration_report(c, visits, o_.output);
    print(report);
    progress_.line(coverage_warnings(visits.coverage, o_.quick));
  }

  static double typical_uncertainty(const Grid& grid, const KernelPhase& kernels) {
    std::vector<float> all;
    for (std::size_t w = 0; w < grid.workloads.size(); ++w)
      all.push_back(static_cast<float>(kernels.uncertainty(w)));
    return median(std::move(all));
  }

  const Options& o_;
  const Machine machine_;
  const Plan plan_;
  Progress progress_;
};

}  // namespace

int calibrate_command_line(int argc, char** argv) {
  Options o;
  CLI::App app("Measures this machine and writes the hardware files that scenarios name.",
               "orrery-rt calibrate");
  declare(app, o);
  try {
    app.parse(argc - 1, argv + 1);
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return 0;
  } catch (const CLI::ExtrasError&) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) names.push_back(option->get_name());
    const auto [message, hint] = unknown_option(app.remaining(), names);
    throw InputError(fmt::format("error: {}\n  hint: {}\n", message, hint.empty() ? "orrery-rt calibrate --help lists the options" : hint));
  } catch (const CLI::ParseError& error) {
    throw InputError(
        fmt::format("error: {}\n  hint: orrery-rt calibrate --help lists the options\n", error.what()));
  }
  refuse_empty_values(app);
  if (o.name.empty() || o.name.find('/') != std::string::npos)
    throw InputError(fmt::format(
        "error: --name {} is no file's name\n  hint: --output says in which directory\n", o.name));
  stopped.store(false);
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  return Calibrating(o).run();
}

}  // namespace orrery::runtime
