#include "sim/commands/compare_traces.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <optional>

#include "schedule/compile.h"
#include "schedule/trace_check.h"
#include "schedule/trace_file.h"
#include "sim/commands/perfetto_file.h"
#include "sim/commands/scenario_files.h"
#include "sim/metrics/simulated_trace.h"
#include "sim/metrics/trace_comparison.h"
#include "sim/report/run_report.h"
#include "sim/report/trace_comparison_json.h"
#include "sim/report/trace_comparison_text.h"
#include "sim/report/trace_json.h"

namespace orrery::sim {
namespace {

schedule::Trace read_of(const schedule::Schedule& schedule, const std::string& path,
                        const std::string& scenario) {
  schedule::Trace trace = schedule::read_trace(path);
  require_trace_of(schedule, trace, path, scenario);
  require_whole_step(schedule, trace, path);
  return trace;
}

void write(const TraceComparison& c, const CompareTracesOptions& o, Output& out) {
  if (o.json)
    out.write(trace_comparison_json(c));
  else if (o.csv)
    out.write(trace_comparison_csv(c));
  else
    out.write(trace_comparison_text(c));
}

}  // namespace

void compare_with_traces(const scenarios::Scenario& scenario, const CompareTracesOptions& o, Output& out) {
  std::optional<PerfettoFile> perfetto;
  if (!o.perfetto.empty()) perfetto.emplace(o.perfetto);
  const schedule::Schedule schedule = schedule::compile(scenario);
  const bool two = o.measured.size() > 1;
  schedule::Trace second = read_of(schedule, o.measured.back(), scenario.path), first;
  std::vector<Diagnostic> warnings;  // of the prediction, which rests on what they say
  if (two) {
    first = read_of(schedule, o.measured.front(), scenario.path);
  } else {
    const Prediction prediction =
        predict(scenario, with_steady_trace(predict_options(o.full, o.emulated_stretch)));
    warnings = prediction.result.warnings;
    first = to_trace(scenario, prediction);
  }
  const TraceComparison comparison =
      compare_traces(scenario, schedule, {two ? "first" : "predicted", two ? o.measured.front() : "", &first},
                     {two ? "second" : "measured", o.measured.back(), &second});
  if (perfetto) {
    const std::array written = {WrittenTrace{&first, comparison.first.word},
                                WrittenTrace{&second, comparison.second.word}};
    perfetto->write(
        [&](std::ostream& stream) { write_trace_json(stream, schedule, written, WrittenRanks::all); });
  }
  write(comparison, o, out);
  const std::string said = warnings_text(warnings);
  if (o.json || o.csv)
    fmt::print(stderr, "{}", said);
  else
    out.write(said);
}

}  // namespace orrery::sim
