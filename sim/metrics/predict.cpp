#include "sim/metrics/predict.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/compile.h"
#include "schedule/verify.h"
#include "sim/cost/analytic_cost.h"
#include "sim/metrics/advice.h"
#include "sim/metrics/confidence.h"
#include "sim/metrics/rank_memory.h"
#include "sim/metrics/step_flops.h"
#include "sim/metrics/step_time.h"
#include "sim/network/alpha_beta.h"

namespace orrery::sim {
namespace {

[[noreturn]] void refuse(const scenarios::Scenario& scenario, const std::string& message,
                         const std::vector<std::string>& lines) {
  Diagnostics diagnostics;
  diagnostics.error(scenario.origins.schedule, message, "another schedule, or other microbatches");
  std::string text = diagnostics.text();
  for (const std::string& line : lines) text += "  " + line + "\n";
  throw InputError(text);
}

void verify_schedule(const scenarios::Scenario& scenario, const schedule::Schedule& schedule) {
  const std::vector<schedule::Finding> findings = schedule::verify(schedule);
  if (!findings.empty()) refuse(scenario, findings.front().message, findings.front().lines);
}

void fill_memory(const scenarios::Scenario& scenario, const schedule::Schedule& schedule, Result& r) {
  const hardware::Cluster& cluster = scenario.cluster;
  r.stages = stage_memory(schedule, cluster);
  const auto less = [](const StageResult& a, const StageResult& b) { return a.total < b.total; };
  const auto worst = std::max_element(r.stages.begin(), r.stages.end(), less);
  r.worst_stage = static_cast<std::size_t>(worst - r.stages.begin());
  r.peak_memory_bytes = memory_interval(*worst);
  r.capacity = cluster.gpu.memory;
  r.host_bytes = host_bytes_of_worst_node(schedule, r.stages, cluster);
  r.host_capacity = cluster.node.host_memory;
  r.device_verdict = verdict_of(worst->total, r.capacity);
  if (r.host_bytes > Bytes()) r.host_verdict = verdict_of(r.host_bytes, r.host_capacity);
  r.verdict = std::max(r.device_verdict, r.host_verdict);
}

void fill_confidence(const Prediction& p, const hardware::Cluster& cluster, const KernelCost& cost,
                     const NetworkModel& network, Result& r) {
  Confidence c = confidence_of({p.schedule, cluster, cost, network, r.waterfall_s, r.communication_total});
  r.step_time_s = interval_of(r.step_time_s.value, c.parts);
  r.measured_fraction = c.measured;
  r.interpolated_fraction = c.interpolated;
  r.modelled_fraction = c.modelled;
  r.parts = std::move(c.parts);
}

void fill_warnings(const scenarios::Scenario& scenario, Result& r) {
  const auto append = [&](std::vector<Diagnostic> more) {
    for (Diagnostic& d : more) r.warnings.push_back(std::move(d));
  };
  append(memory_advice(scenario, r));
  append(time_advice(scenario, r));
  append(scenario.warnings);
}

}  // namespace

Prediction predict(const scenarios::Scenario& scenario, const PredictOptions& options) {
  Prediction p;
  p.schedule = schedule::compile(scenario);
  if (options.verify) verify_schedule(scenario, p.schedule);
  const auto cost =
      make_analytic_cost(scenario.cluster, scenario.training.precision, scenario.offload.pinned);
  const AlphaBeta network(scenario.cluster, scenario.network);
  p.simulation = simulate(p.schedule, scenario.cluster, *cost, network, options.simulation);
  if (p.simulation.deadlocked) refuse(scenario, "the schedule deadlocks", p.simulation.deadlock);
  Result& r = p.result;
  r.scenario = scenario.name;
  r.fingerprint = p.simulation.fingerprint;
  r.events = p.simulation.events;
  r.step_time_s.value = p.simulation.step_time.seconds();
  fill_memory(scenario, p.schedule, r);
  fill_time_shares(p.schedule, p.simulation, r);
  fill_confidence(p, scenario.cluster, *cost, network, r);
  const StepFlops flops = step_flops(p.schedule, scenario.training.attention_flops_causal);
  r.model_flops = flops.model;
  r.hardware_flops = flops.hardware;
  fill_rates(scenario, r);
  fill_warnings(scenario, r);
  return p;
}

}  // namespace orrery::sim
