// `compare`: one column a scenario, and what was measured beside what is predicted: a few numbers of the
// scenario's own, or every op of a trace.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "base/data_root.h"
#include "base/diagnostics.h"
#include "base/option_values.h"
#include "schedule/trace_file.h"
#include "sim/commands/command.h"
#include "sim/commands/compare_traces.h"
#include "sim/commands/perfetto_file.h"
#include "sim/commands/results.h"
#include "sim/commands/scenario_files.h"
#include "sim/report/compare_report.h"
#include "sim/report/csv_result.h"
#include "sim/report/json_result.h"
#include "sim/report/progress.h"
#include "sim/report/run_cost.h"

namespace orrery::sim {
namespace {

struct CompareOptions {
  ScenarioOptions scenarios;
  bool json = false, csv = false, require_fit = false, full = false;
  double emulated_stretch = 0.0;
  std::vector<std::string> measured;
  std::string trace;
};

std::vector<Result> predict_all(const std::vector<scenarios::Scenario>& scenarios, bool full) {
  std::vector<Result> results;
  Progress progress("compare", static_cast<std::int64_t>(scenarios.size()));
  for (const scenarios::Scenario& scenario : scenarios) {
    const auto begin = std::chrono::steady_clock::now();
    results.push_back(predict(scenario, predict_options(full)).result);
    fill_run_cost(results.back(), begin);
    progress.advance();
  }
  return results;
}

int compare_measured(const CompareOptions& o, const std::vector<scenarios::Scenario>& scenarios,
                     Output& out) {
  if (scenarios.size() != 1)
    throw InputError("error: --measured takes one scenario\n  hint: compare each with its own trace\n");
  if (o.measured.size() > 2)
    throw InputError(
        "error: --measured stands once or twice\n  hint: one trace beside the prediction, or two beside each "
        "other\n");
  std::vector<std::string> inputs = o.measured;
  inputs.push_back(scenarios.front().path);
  refuse_to_overwrite("--trace", o.trace, inputs);
  compare_with_traces(scenarios.front(),
                      {.measured = o.measured,
                       .perfetto = o.trace,
                       .json = o.json,
                       .csv = o.csv,
                       .full = o.full,
                       .emulated_stretch = o.emulated_stretch},
                      out);
  return kFine;
}

// The scenario that the traces are of, where none is named: they say it.
ScenarioOptions named_scenarios(const CompareOptions& o) {
  ScenarioOptions named = o.scenarios;
  if (!named.files.empty()) return named;
  if (o.measured.empty())
    throw InputError("error: compare needs scenario files\n  hint: orrery compare scenarios/quickstart.json scenarios/7b-8gpu.json\n");
  const std::string path = schedule::read_trace(o.measured.back()).scenario_path;
  if (find_file(path, nullptr).empty())
    throw InputError(
        fmt::format("error: {} is of the scenario {}, which is not there\n  hint: name it: orrery compare "
                    "--measured {} SCENARIO\n",
                    o.measured.back(), path.empty() ? "?" : path, o.measured.back()));
  named.files.push_back(path);
  return named;
}

int compare(const CompareOptions& o, Output& out) {
  require_finite("--emulated-stretch", o.emulated_stretch);
  const std::vector<scenarios::Scenario> scenarios = load_scenarios(named_scenarios(o));
  if (!o.measured.empty()) return compare_measured(o, scenarios, out);
  const std::vector<Result> results = predict_all(scenarios, o.full);
  if (o.json) {
    out.write(json_results(paired(scenarios, results)));
  } else if (o.csv) {
    out.line(csv_header());
    for (std::size_t i = 0; i < results.size(); ++i) out.line(csv_row(scenarios[i], results[i]));
  } else {
    out.write(compare_report(paired(scenarios, results)));
  }
  return o.require_fit ? fit_exit(results) : kFine;
}

}  // namespace

Action declare_compare(CLI::App& app) {
  const auto o = std::make_shared<CompareOptions>();
  declare_scenarios(app, o->scenarios);
  app.get_option("FILE")->required(false)->description("Scenario files; with --measured by default the one that the trace names");
  CLI::Option* json =
      app.add_flag("--json", o->json, "One JSON document (docs/reference/result.md), nothing else");
  app.add_flag("--csv", o->csv, "A CSV table, one row a scenario; with --measured one row an op")
      ->excludes(json);
  CLI::Option* fit = app.add_flag("--require-fit", o->require_fit, "Exit with 1 where a plan does not fit");
  app.add_flag("--full", o->full, "Simulate every rank and microbatch, also those that are alike");
  CLI::Option* measured =
      app.add_option("--measured", o->measured,
                     "A trace that was measured, beside what is predicted; twice: one run beside another "
                     "(docs/reference/trace.md)")
          ->type_name("TRACE")
          ->allow_extra_args(false)
          ->excludes(fit);
  app.add_option("--emulated-stretch", o->emulated_stretch,
                 "With --measured: the trace is of emulated kernels, this many times as long")
      ->type_name("FACTOR")
      ->check(CLI::PositiveNumber)
      ->needs(measured);
  app.add_option("--trace", o->trace, "With --measured: write both as one Chrome / Perfetto trace")
      ->type_name("FILE")
      ->needs(measured);
  return [o](Output& out) { return compare(*o, out); };
}

}  // namespace orrery::sim
