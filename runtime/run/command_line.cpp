#include "runtime/run/command_line.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>

#include "base/check.h"
#include "base/option_values.h"
#include "base/option_words.h"
#include "base/output.h"
#include "runtime/machine/machine.h"
#include "runtime/run/launcher.h"
#include "runtime/run/memory_check.h"
#include "runtime/run/output_check.h"
#include "runtime/run/report.h"
#ifdef ORRERY_MPI
#include "runtime/run/mpi_run.h"
#endif
#include "runtime/run/thread_run.h"
#include "scenarios/copies.h"
#include "scenarios/load.h"
#include "schedule/compile.h"
#include "schedule/text.h"
#include "schedule/trace_check.h"
#include "schedule/trace_file.h"
#include "schedule/verify.h"

namespace orrery::runtime {
namespace {

struct CommandLine {
  std::string scenario, schedule, data, save_trace, emulate, backend = "auto";
  std::vector<std::string> sets;
  RunOptions run;
  StallLimits stall;
  std::optional<std::int64_t> discard, keep;
  bool json = false, quiet = false;
};

// Says what is allowed in words; CLI11's own name a range of 13 digits.
CLI::Validator number(bool (*allowed)(double), const char* what) {
  return CLI::Validator(
      [allowed, what](std::string& word) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(word.c_str(), &end);
        return !word.empty() && *end == '\0' && allowed(value) ? "" : fmt::format("{} is not {}", word, what);
      },
      "");
}

void declare(CLI::App& app, CommandLine& o) {
  const CLI::Validator at_least_one = number([](double x) { return x >= 1; }, "a number of steps: 1 or more");
  const CLI::Validator not_negative = number([](double x) { return x >= 0; }, "a number: 0 or more");
  const CLI::Validator positive_seconds = number([](double x) { return x > 0; }, "a number of seconds: more than 0, as 30");
  app.add_option("SCENARIO", o.scenario, "Scenario file")->type_name("")->required();
  app.add_option("--set", o.sets, "Set a field of the scenario: path=value (repeatable)")->type_name("PATH=VALUE")->allow_extra_args(false);
  app.add_option("--schedule", o.schedule, "Perform this schedule text (docs/schedule.md) instead of the scenario's own")->type_name("FILE");
  app.add_option("--steps", o.run.steps, "Optimizer steps to perform")->type_name("N")->check(at_least_one)->capture_default_str();
  app.add_option("--discard", o.discard, "First steps that are not measured; default: 2, fewer where there are few")->type_name("N")->check(not_negative);
  app.add_option("--data", o.data, "Train on the bytes of this file; default: a generated pattern")->type_name("FILE");
  app.add_option("--save-trace", o.save_trace, "Write what every op took, for `orrery compare --measured`")->type_name("FILE");
  app.add_option("--backend", o.backend, "Ranks are threads of one process, or MPI processes; default: mpi under mpirun and srun")
      ->type_name("threads|mpi")->check(CLI::IsMember({"auto", "threads", "mpi"}));
  app.add_option("--stall-limit", o.stall.no_progress_s, "Give up when no rank has done anything for this long; longer than the longest op")
      ->type_name("SECONDS")->check(positive_seconds)->capture_default_str();
  app.add_option("--save", o.run.save_directory, "Write checkpoints into this directory")->type_name("DIR");
  app.add_option("--every", o.run.save_every, "Steps between checkpoints; default: only one, at the end")->type_name("N")->check(not_negative);
  app.add_option("--keep", o.keep, "Checkpoints to keep, 0: all; default: 2")->type_name("N")->check(not_negative);
  app.add_option("--resume", o.run.resume, "Go on from a checkpoint, or the newest one in a directory; any plan of the same model")->type_name("DIR");
  app.add_option("--emulate", o.emulate, "Kernels are timed waits, as long as in this trace (simulated, or the first step of a measured one); messages stay real")->type_name("TRACE");
  app.add_flag("--double", o.run.in_double, "Compute in double precision, whatever the scenario says");
  app.add_flag("--json", o.json, "One JSON document, nothing else (docs/reference/execute.md)");
  app.add_flag("--quiet", o.quiet, "No line a step");
}

void check_options(CommandLine& o) {
  if (o.run.save_every > 0 && o.run.save_directory.empty())
    throw InputError("error: --every needs --save\n  hint: --save DIR says where checkpoints go\n");
  if (o.keep && o.run.save_directory.empty())
    throw InputError("error: --keep needs --save\n  hint: --save DIR says where checkpoints go\n");
  o.run.keep = o.keep.value_or(o.run.keep);
  require_finite("--stall-limit", o.stall.no_progress_s);
  require_count("--keep", o.run.keep);
  require_count("--every", o.run.save_every);
  if (!o.emulate.empty() && (!o.run.save_directory.empty() || !o.run.resume.empty() || !o.data.empty()))
    throw InputError("error: an emulated run trains nothing, so it has no data and no checkpoints\n  hint: leave out --data, --save and --resume\n");
  if (!o.emulate.empty() && o.run.in_double)
    throw InputError("error: an emulated run computes nothing, so --double says nothing\n  hint: leave one of them out\n");
  o.run.discard = o.discard.value_or(std::min<std::int64_t>(2, o.run.steps - 1));
  if (o.run.discard >= o.run.steps)
    throw InputError(fmt::format("error: --discard {} leaves none of {} steps\n  hint: more --steps\n", o.run.discard, o.run.steps));
}

// The first asks for an end after a step, the second for an end at once, more end without a word.
StopSign* signalled = nullptr;
void on_signal(int signal) {
  if (signalled == nullptr || signalled->asked() > 2) std::_Exit(3);
  signalled->ask(signal != SIGUSR1);
}

class Signals {
 public:
  explicit Signals(StopSign& stop) {
    signalled = &stop;
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    std::signal(SIGUSR1, on_signal);  // mpirun passes it on; not in a hurry
  }
  ~Signals() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGUSR1, SIG_DFL);
    signalled = nullptr;
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
};

// The scenario's own schedule, or the one that the user wrote in its place.
schedule::Schedule sound_schedule(const scenarios::Scenario& scenario, const std::string& written) {
  schedule::Schedule s = written.empty() ? schedule::compile(scenario) : schedule::read_schedule_for(scenario, written);
  std::string broken;
  for (const schedule::Finding& finding : schedule::verify(s)) {
    if (finding.unchecked) continue;
    broken += fmt::format("error: {}\n", finding.message);
    for (const std::string& line : finding.lines) broken += "  " + line + "\n";
  }
  if (!broken.empty()) throw InputError(broken);
  return s;
}

void require_cpu() {
#if defined(__x86_64__)
  // Every CPU with AVX2 has F16C, which clang's builtin does not know.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    throw WorldError("this CPU lacks AVX2 or FMA (x86-64-v3), which the kernels are built for");
#endif
}

void print(const std::string& text) {
  Output out(stdout);
  out.write(text);
  out.flush();
}

void say(const std::string& text) { std::fputs((text + "\n").c_str(), stderr); }

// Lines of rank 0 while the run goes on, and a word where the training has gone wrong.
class StepPrinter {
 public:
  StepPrinter(double tokens_per_step, bool emulates, bool a_line_a_step)
      : tokens_(tokens_per_step), emulates_(emulates), a_line_a_step_(a_line_a_step) {}
  void operator()(std::int64_t step, double loss) {
    const std::int64_t now = now_ns();
    const double seconds = last_ > 0 ? static_cast<double>(now - last_) * 1e-9 : 0.0;
    last_ = now;
    if (a_line_a_step_) print(step_line(step, emulates_ ? std::nullopt : std::optional(loss), seconds, tokens_));
    if (emulates_ || std::isfinite(loss) || warned_) return;
    warned_ = true;
    say(fmt::format("warning: the loss of step {} is {}: the training has diverged, and later steps compute with it\n  hint: a smaller "
                    "training.learning_rate; in fp16 a step that overflows is skipped", step, std::isnan(loss) ? "not a number" : "infinite"));
  }

 private:
  double tokens_;
  bool emulates_, a_line_a_step_, warned_ = false;
  std::int64_t last_ = 0;
};

// First what people wait for; the trace is written behind it, since that may fail. Neither takes the other along.
void finish(const CommandLine& o, const scenarios::Scenario& scenario, const RunJob& job, schedule::Trace trace) {
  const RunReport report{scenario, *job.schedule, trace, job.tokens->entropy_floor()};
  std::exception_ptr not_printed;
  try {
    print(o.json ? run_json(report) : run_summary(report));
  } catch (...) {
    not_printed = std::current_exception();
  }
  trace.scenario = scenario.name;
  trace.scenario_path = scenario.path;
  if (!o.save_trace.empty()) schedule::write_trace(o.save_trace, trace);
  if (not_printed) std::rethrow_exception(not_printed);
}

// Of a run that has failed: that is what people must hear of, whatever else fails.
void finish_failed(const CommandLine& o, const scenarios::Scenario& scenario, const RunJob& job, const schedule::Trace& trace) {
  try {
    finish(o, scenario, job, trace);
  } catch (const ReaderGone&) {
  } catch (const OutputFailed&) {
  } catch (const std::exception& error) {
    std::fputs(fmt::format("what was measured is lost, too: {}\n", error.what()).c_str(), stderr);
  }
}

RankHooks hooks_of(const CommandLine& o, const scenarios::Scenario& scenario, bool speaks) {
  RankHooks hooks;
  if (!speaks) return hooks;
  const auto tokens = static_cast<double>(scenario.training.global_batch * scenario.training.sequence_length);
  const auto printer = std::make_shared<StepPrinter>(tokens, !o.emulate.empty(), !o.json && !o.quiet);
  hooks.say = say;
  hooks.on_step = [printer](std::int64_t step, double loss) { (*printer)(step, loss); };
  return hooks;
}

int run_threads(const CommandLine& o, const scenarios::Scenario& scenario, const RunJob& job) {
  StopSign stop;
  const Signals signals(stop);
  const auto hooks = [&](int rank) { return hooks_of(o, scenario, rank == 0); };
  const auto last_resort = [&](const std::string& message, const RunResult& result) {
    std::fputs(fmt::format("error: {}\n", message).c_str(), stderr);
    finish_failed(o, scenario, job, result.trace);
    std::_Exit(3);
  };
  const RunResult result = run_as_threads(job, stop, o.stall, hooks, last_resort);
  if (result.error) {
    if (result.trace.steps > 0) finish_failed(o, scenario, job, result.trace);
    std::rethrow_exception(result.error);
  }
  finish(o, scenario, job, result.trace);
  return stop.asked() > 0 ? 3 : 0;
}

// By rank 0, before any rank starts: what would be wrong only at the end, or only seems right.
void prepare(const CommandLine& o, const scenarios::Scenario& scenario, const TokenSource& tokens, const char* ranks_are) {
  if (!o.save_trace.empty()) require_writable_file("--save-trace", o.save_trace, {o.scenario, o.schedule, o.data, o.emulate});
  if (!o.run.save_directory.empty()) require_writable_directory("--save", o.run.save_directory);
  if (!o.data.empty() && tokens.size() < scenario.training.sequence_length + 1)
    say(fmt::format("warning: {} has {} bytes, and a sequence with its labels {}: it is repeated within each\n  hint: a longer text, or a "
                    "smaller training.sequence_length", o.data, tokens.size(), scenario.training.sequence_length + 1));
  if (!o.json) print(run_heading(scenario, ranks_are, this_machine().usable_cores()));
}

// Everything that is read before the first rank starts.
struct Input {
  scenarios::Scenario scenario;
  schedule::Schedule schedule;
  std::unique_ptr<TokenSource> tokens;
  schedule::Trace emulated;
  std::uint64_t fingerprint = 0;

  explicit Input(const CommandLine& o)
      : scenario(scenarios::load_scenarios({o.scenario}, o.sets).front()), schedule(sound_schedule(scenario, o.schedule)) {
    fingerprint = schedule::fingerprint(schedule);
    tokens = o.data.empty() ? pattern_tokens(schedule.model.vocab, schedule.hyper.seed)
                            : text_tokens(o.data, schedule.model.vocab, schedule.hyper.seed);
    if (o.emulate.empty()) {
      if (const std::string why = scenarios::why_copies_drift(scenario); !why.empty())
        throw InputError(fmt::format("{}: error: {}: these copies would drift apart\n  hint: compression.top_k 0 or 1; tp 1 and an "
                                     "untied embedding; or predict its time with orrery run\n", o.scenario, why));
      return;
    }
    emulated = schedule::read_trace(o.emulate);
    schedule::require_trace_of(schedule, emulated, o.emulate, o.scenario);
    schedule::require_whole_step(schedule, emulated, o.emulate);
  }
  RunJob job(const CommandLine& o) const {
    RunJob job{&schedule, tokens.get(), fingerprint, o.run, fmt::format("{}-{}", ::getpid(), now_ns() % 1'000'000'000)};
    if (!o.emulate.empty()) job.options.emulate = &emulated;
    return job;
  }
};

bool wants_mpi(const CommandLine& o) { return o.backend == "mpi" || (o.backend == "auto" && started_by_a_launcher()); }

#ifdef ORRERY_MPI
int run_mpi(const CommandLine& o, int argc, char** argv) {
  StopSign stop;
  const Signals signals(stop);  // a signal that comes while ranks start is heard of in their first step
  const Launcher launcher;
  const MemoryNow memory = memory_now();  // before any rank takes of it: they meet in the next line
  MpiRun mpi(make_mpi_world(argc, argv), launcher);
  try {
    const Input input(o);
    if (mpi.size() != input.schedule.world)
      throw InputError(fmt::format("error: {} has {} ranks, and {} processes were started\n  hint: mpirun -n {}\n", o.scenario,
                                   input.schedule.world, mpi.size(), input.schedule.world));
    RunJob job = input.job(o);
    job.run_word = mpi.job_word();
    const bool speaks = mpi.rank() == 0;
    require_memory(input.schedule, mpi.ranks_here(), o.run.in_double, memory, o.scenario);
    if (speaks) prepare(o, input.scenario, *input.tokens, "processes");
    const RunResult result = mpi.run(job, stop, o.stall, hooks_of(o, input.scenario, speaks), o.save_trace);
    if (speaks) finish(o, input.scenario, job, result.trace);
    return stop.asked() > 0 || result.stopped ? 3 : 0;
  } catch (const InputError& error) {
    mpi.end_job(error.what(), 2);
  } catch (const std::exception& error) {
    mpi.end_job(fmt::format("error: {}\n", error.what()), 3);
  }
}
#endif

[[noreturn]] void refuse_words(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) names.push_back(option->get_name());
  auto [message, hint] = unknown_option(app.remaining(), names);
  if (message.ends_with(" --trace"))
    hint = "--save-trace FILE keeps what every op took; orrery compare --measured FILE --trace OUT makes a Perfetto trace of it";
  if (hint.empty()) hint = "orrery-rt --help lists the options";
  throw InputError(fmt::format("error: {}\n  hint: {}\n", message, hint));
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CommandLine o;
  CLI::App app("Performs a scenario's schedule on this machine: trains a small model, and measures every op.", "orrery-rt");
  declare(app, o);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return 0;
  } catch (const CLI::ExtrasError&) {
    refuse_words(app);
  } catch (const CLI::ParseError& error) {
    throw InputError(fmt::format("error: {}\n  hint: orrery-rt --help lists the options\n", error.what()));
  }
  refuse_empty_values(app);
  check_options(o);
  require_cpu();
  if (!wants_mpi(o)) {
    const Input input(o);
    require_memory(input.schedule, all_ranks(input.schedule), o.run.in_double, memory_now(), o.scenario);
    prepare(o, input.scenario, *input.tokens, "threads");
    return run_threads(o, input.scenario, input.job(o));
  }
#ifdef ORRERY_MPI
  return run_mpi(o, argc, argv);
#else
  throw InputError("error: this program was built without MPI\n  hint: --backend threads, or install Open MPI and build again\n");
#endif
}

}  // namespace orrery::runtime
