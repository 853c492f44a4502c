// `run`: one report per scenario, or one JSON document, or a CSV table.
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/check.h"
#include "sim/commands/command.h"
#include "sim/commands/results.h"
#include "sim/commands/scenario_files.h"
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
  std::string trace, tokens;
};

// Opened before anything is simulated, so that nobody waits for a file that cannot be written.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path) : path_(path), stream_(path, std::ios::binary) {
    if (!stream_) fail("cannot be opened for writing");
  }
  void write(const Prediction& prediction, bool all_ranks) {
    write_trace_json(stream_, prediction.schedule, prediction.simulation, {.all_ranks = all_ranks});
    stream_.close();
    if (!stream_) fail("writing it failed");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw WorldError(fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
  }
  std::string path_;
  std::ofstream stream_;
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

void refuse_to_overwrite(const std::string& trace, const std::string& input) {
  std::error_code missing;  // a trace file that does not exist yet is nobody's input
  if (!trace.empty() && std::filesystem::equivalent(trace, input, missing))
    throw InputError(
        fmt::format("error: --trace {} would overwrite the scenario\n  hint: name another file\n", trace));
}

int run(const RunOptions& o, Output& out) {
  ScenarioOptions named = o.scenarios;
  if (!o.tokens.empty()) named.sets.push_back("training.tokens=" + o.tokens);
  const std::vector<scenarios::Scenario> scenarios = load_scenarios(named);
  if (!o.trace.empty() && scenarios.size() > 1)
    throw InputError("error: --trace takes one scenario\n  hint: run each with a trace file of its own\n");
  for (const scenarios::Scenario& scenario : scenarios) refuse_to_overwrite(o.trace, scenario.path);
  std::optional<TraceFile> trace;
  if (!o.trace.empty()) trace.emplace(o.trace);
  PredictOptions options = predict_options(o.full);
  options.simulation.trace = trace.has_value();
  std::vector<Result> results;
  for (const scenarios::Scenario& scenario : scenarios) {
    const auto begin = std::chrono::steady_clock::now();
    Prediction prediction = predict(scenario, options);
    if (trace) trace->write(prediction, o.full);
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
  app.add_option("--tokens", o->tokens, "How many steps, hours and GPU-hours to N tokens")->type_name("N");
  app.add_flag("--require-fit", o->require_fit, "Exit with 1 where a plan does not fit");
  app.add_flag("--full", o->full, "Simulate every rank and microbatch, also those that are alike");
  return [o](Output& out) { return run(*o, out); };
}

}  // namespace orrery::sim
