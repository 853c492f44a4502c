// `run`: one report per scenario, or one JSON document, or a CSV table.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/diagnostics.h"
#include "base/option_values.h"
#include "schedule/text.h"
#include "schedule/trace_file.h"
#include "sim/commands/command.h"
#include "sim/commands/perfetto_file.h"
#include "sim/commands/results.h"
#include "sim/commands/scenario_files.h"
#include "sim/metrics/simulated_trace.h"
#include "sim/report/csv_result.h"
#include "sim/report/explain.h"
#include "sim/report/json_result.h"
#include "sim/report/run_cost.h"
#include "sim/report/run_report.h"
#include "sim/report/trace_json.h"

namespace orrery::sim {
namespace {

struct RunOptions {
  ScenarioOptions scenarios;
  bool json = false, csv = false, explain = false, require_fit = false, full = false;
  double emulated_stretch = 0.0;
  std::string trace, saved_trace, tokens, schedule;
};

std::string report_of(const scenarios::Scenario& scenario, const Result& result, bool explained) {
  std::string text = run_report(scenario, result);
  if (explained) text += "\n" + explain(scenario, result);
  return text;
}

void write_results(const RunOptions& o, const std::vector<scenarios::Scenario>& scenarios,
                   const std::vector<Result>& results, Output& out) {
  if (o.json) {
    out.write(results.size() == 1 ? json_result(scenarios.front(), results.front())
                                  : json_results(paired(scenarios, results)));
    return;
  }
  if (o.csv) out.line(csv_header());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (o.csv) {
      out.line(csv_row(scenarios[i], results[i]));
    } else {
      out.write((i == 0 ? "" : "\n") + report_of(scenarios[i], results[i], o.explain));
    }
  }
}

// The last steps of a longer simulation, so that a saved trace is steady, whatever is reported.
void save_trace(const std::string& path, const scenarios::Scenario& scenario, PredictOptions options) {
  options = with_steady_trace(std::move(options));
  options.verify = false;  // it was
  schedule::write_trace(path, to_trace(scenario, predict(scenario, options)));
}

// Of the options that write a file.
void check_files(const RunOptions& o, const std::vector<scenarios::Scenario>& scenarios) {
  for (const auto& [option, path] :
       {std::pair<std::string, std::string>{"--trace", o.trace}, {"--save-trace", o.saved_trace}}) {
    if (path.empty()) continue;
    if (scenarios.size() > 1)
      throw InputError(fmt::format(
          "error: {} takes one scenario\n  hint: run each with a trace file of its own\n", option));
    refuse_to_overwrite(option, path, {scenarios.front().path});
  }
}

int run(const RunOptions& o, Output& out) {
  require_finite("--emulated-stretch", o.emulated_stretch);
  ScenarioOptions named = o.scenarios;
  if (!o.tokens.empty()) named.sets.push_back("training.tokens=" + o.tokens);
  const std::vector<scenarios::Scenario> scenarios = load_scenarios(named);
  check_files(o, scenarios);
  if (!o.schedule.empty() && scenarios.size() > 1)
    throw InputError("error: --schedule takes one scenario\n  hint: name the one whose ranks it is for\n");
  std::optional<PerfettoFile> trace;
  if (!o.trace.empty()) trace.emplace(o.trace);
  PredictOptions options = predict_options(o.full, o.emulated_stretch);
  options.simulation.trace = trace.has_value();
  if (!o.schedule.empty()) options.given = schedule::read_schedule_for(scenarios.front(), o.schedule);
  std::vector<Result> results;
  for (const scenarios::Scenario& scenario : scenarios) {
    const auto begin = std::chrono::steady_clock::now();
    Prediction prediction = predict(scenario, options);
    if (trace)
      trace->write([&](std::ostream& stream) {
        write_trace_json(stream, prediction.schedule, prediction.simulation, {.all_ranks = o.full});
      });
    if (!o.saved_trace.empty()) save_trace(o.saved_trace, scenario, options);
    fill_run_cost(prediction.result, begin);
    results.push_back(std::move(prediction.result));
  }
  write_results(o, scenarios, results, out);
  return o.require_fit ? fit_exit(results) : kFine;
}

}  // namespace

Action declare_run(CLI::App& app) {
  const auto o = std::make_shared<RunOptions>();
  declare_scenarios(app, o->scenarios);
  CLI::Option* json =
      app.add_flag("--json", o->json, "One JSON document (docs/reference/result.md), nothing else");
  app.add_flag("--csv", o->csv, "A CSV table, one row a scenario")->excludes(json);
  app.add_flag("--explain", o->explain, "Each headline number with its formula, inputs and source")
      ->excludes(json);
  app.add_option("--trace", o->trace, "Write a Chrome / Perfetto trace of the step (--full: of every rank)")
      ->type_name("FILE");
  app.add_option("--save-trace", o->saved_trace,
                 "Write a trace of three steps as orrery-rt writes them (docs/reference/trace.md)")
      ->type_name("FILE");
  app.add_option(
         "--emulated-stretch", o->emulated_stretch,
         "Predict what `orrery execute --emulate` performs: kernels are waits, this many times as long")
      ->type_name("FACTOR")
      ->check(CLI::PositiveNumber);
  app.add_option("--schedule", o->schedule,
                 "Run this schedule text (docs/schedule.md) instead of the scenario's own, on its model and cluster")
      ->type_name("FILE");
  app.add_option("--tokens", o->tokens, "How many steps, hours and GPU-hours to N tokens")->type_name("N");
  app.add_flag("--require-fit", o->require_fit, "Exit with 1 where a plan does not fit");
  app.add_flag("--full", o->full, "Simulate every rank and microbatch, also those that are alike");
  return [o](Output& out) { return run(*o, out); };
}

}  // namespace orrery::sim
