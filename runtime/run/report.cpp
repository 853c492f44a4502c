#include "runtime/run/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/quantile.h"
#include "base/quantities.h"
#include "models/architecture.h"
#include "schedule/trace_steps.h"

namespace orrery::runtime {
namespace {

double tokens_of(const scenarios::Scenario& s) {
  return static_cast<double>(s.training.global_batch * s.training.sequence_length);
}

// One that is no number has no sign worth reading.
std::string loss_text(double loss) { return std::isnan(loss) ? "nan" : fmt::format("{:.5f}", loss); }

std::int64_t worst(const schedule::Trace& trace, std::int64_t schedule::RankTrace::*bytes) {
  std::int64_t most = 0;
  for (const schedule::RankTrace& rank : trace.ranks) most = std::max(most, rank.*bytes);
  return most;
}

}  // namespace

std::string run_heading(const scenarios::Scenario& s, const std::string& ranks_are, std::int64_t cores) {
  const scenarios::Parallel& p = s.parallel;
  std::string plan;
  for (const auto& [word, size] : {std::pair{"TP", p.tp}, {"CP", p.cp}, {"EP", p.ep}, {"PP", p.pp}, {"DP", p.dp}})
    if (size > 1) plan += fmt::format("{}{}, ", word, size);
  if (p.zero > 0) plan += fmt::format("ZeRO-{}, ", p.zero);
  const std::int64_t world = p.world();
  std::string text = fmt::format("{}: {}{} rank{} ({}) on {} core{}, {} parameters\n", s.name, plan, world,
                                 world == 1 ? "" : "s", ranks_are, cores, cores == 1 ? "" : "s",
                                 human_count(static_cast<double>(models::parameter_count(s.model))));
  if (world > cores)
    text += fmt::format("note: {} ranks take turns on {} core{}; steps are as much longer\n", world, cores, cores == 1 ? "" : "s");
  return text;
}

Spread spread_of(const std::vector<double>& values) {
  return {quantile(values, 0.5), quantile(values, 0.1), quantile(values, 0.9)};
}

std::string step_line(std::int64_t step, std::optional<double> loss, double seconds, double tokens_per_step) {
  std::string text = fmt::format("step {:>5}", step);
  if (loss) text += fmt::format("  loss {:>9}", loss_text(*loss));
  if (seconds > 0.0) text += fmt::format("  {:>9.2f} ms  {:>10.0f} tokens/s", 1e3 * seconds, tokens_per_step / seconds);
  return text + "\n";
}

std::string run_summary(const RunReport& report) {
  const auto& [scenario, schedule, trace, loss_floor] = report;
  std::string text;
  if (!trace.losses.empty() && trace.origin != schedule::TraceOrigin::emulated) {
    text += fmt::format("loss            {} -> {} over {} steps", loss_text(trace.losses.front()), loss_text(trace.losses.back()),
                        trace.losses.size());
    text += loss_floor > 0.0 ? fmt::format("   (this data's floor: {:.5f})\n", loss_floor) : "\n";
  }
  const std::vector<double> seconds = schedule::step_times(schedule, trace).seconds;
  if (!seconds.empty()) {
    const Spread s = spread_of(seconds);
    text += fmt::format("step time       {:.3f} ms   (median of {}; p10 {:.3f}, p90 {:.3f})\n", 1e3 * s.median, seconds.size(),
                        1e3 * s.p10, 1e3 * s.p90);
    text += fmt::format("tokens/s        {:.0f}\n", tokens_of(scenario) / s.median);
  }
  const std::int64_t live = worst(trace, &schedule::RankTrace::peak_live_bytes);
  const std::int64_t arena = worst(trace, &schedule::RankTrace::arena_bytes);
  if (arena > 0)
    text += fmt::format("memory          {:.2f} MiB live at the peak of the worst rank; its arena {:.2f} MiB\n",
                        static_cast<double>(live) / 1048576.0, static_cast<double>(arena) / 1048576.0);
  if (!trace.complete && trace.losses.empty()) text += "the run was stopped early, before its first step had ended\n";
  if (!trace.complete && !trace.losses.empty()) text += "the run was stopped early; this is what was measured until then\n";
  return text;
}

std::string run_json(const RunReport& report) {
  const auto& [scenario, schedule, trace, loss_floor] = report;
  nlohmann::ordered_json json;
  json["schema_version"] = 1;
  json["scenario"] = scenario.name;
  json["complete"] = trace.complete;
  if (trace.origin != schedule::TraceOrigin::emulated) json["losses"] = trace.losses;
  if (loss_floor > 0.0 && trace.origin != schedule::TraceOrigin::emulated) json["loss_floor"] = loss_floor;
  const std::vector<double> seconds = schedule::step_times(schedule, trace).seconds;
  json["steps_measured"] = seconds.size();
  if (!seconds.empty()) {
    const Spread s = spread_of(seconds);
    json["step_time_s"] = {{"median", s.median}, {"p10", s.p10}, {"p90", s.p90}};
    json["tokens_per_s"] = tokens_of(scenario) / s.median;
  }
  json["memory"] = {{"peak_live_bytes", worst(trace, &schedule::RankTrace::peak_live_bytes)},
                    {"arena_bytes", worst(trace, &schedule::RankTrace::arena_bytes)},
                    {"peak_host_bytes", worst(trace, &schedule::RankTrace::peak_host_bytes)}};
  return json.dump(2) + "\n";
}

}  // namespace orrery::runtime
