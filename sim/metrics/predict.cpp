#include "sim/metrics/predict.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/compile.h"
#include "schedule/expert_rows.h"
#include "schedule/verify.h"
#include "sim/cost/stretched_cost.h"
#include "sim/metrics/advice.h"
#include "sim/metrics/confidence.h"
#include "sim/metrics/limits.h"
#include "sim/metrics/machine_models.h"
#include "sim/metrics/rank_memory.h"
#include "sim/metrics/step_flops.h"
#include "sim/metrics/step_time.h"
#include "sim/metrics/undisturbed_time.h"

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

// Returns what was too large to check.
std::vector<schedule::Finding> verify_schedule(const scenarios::Scenario& scenario,
                                               const schedule::Schedule& schedule,
                                               const PredictOptions& options) {
  if (!options.verify) return {};
  std::vector<schedule::Finding> findings = schedule::verify(schedule, options.verification);
  for (const schedule::Finding& f : findings)
    if (!f.unchecked) refuse(scenario, f.message, f.lines);
  return findings;
}

// A time that the clock cannot hold is the user's to mend: absurdly slow hardware.
template <typename Compute>
auto within_the_clock(const scenarios::Scenario& scenario, Compute&& compute) {
  try {
    return compute();
  } catch (const DurationTooLong& error) {
    refuse_endless_op(scenario, error.what());
  }
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

void fill_confidence(const hardware::Cluster& cluster, const UndisturbedTime& undisturbed, Result& r) {
  Confidence c = confidence_of({cluster, undisturbed, r.waterfall_s, r.communication_total});
  r.step_time_s = interval_of(r.step_time_s.value, c.parts);
  r.measured_fraction = c.measured;
  r.interpolated_fraction = c.interpolated;
  r.modelled_fraction = c.modelled;
  r.parts = std::move(c.parts);
}

void fill_simulated(const SimulationResult& simulation, Result& r) {
  r.fingerprint = simulation.fingerprint;
  r.events = simulation.events;
  r.exact = simulation.exact;
  r.microbatches_simulated = simulation.microbatches_simulated;
  r.step_time_s.value = simulation.step_time.seconds();
}

void append(std::vector<Diagnostic>& all, std::vector<Diagnostic> more) {
  for (Diagnostic& d : more) all.push_back(std::move(d));
}

}  // namespace

Prediction predict(const scenarios::Scenario& scenario, const PredictOptions& options) {
  Prediction p;
  p.schedule = options.given ? *options.given : schedule::compile(scenario);
  refuse_too_large(scenario, p.schedule, options.simulation);
  const std::vector<schedule::Finding> unchecked = verify_schedule(scenario, p.schedule, options);
  const schedule::Schedule fullest = schedule::with_most_rows(p.schedule);  // the rank whose experts get the most
  const MachineModels machine(scenario);
  const UndisturbedTime undisturbed = within_the_clock(scenario, [&] {
    return undisturbed_time(fullest, machine.cost(), machine.network(), scenario.network);
  });
  refuse_endless(scenario, undisturbed);
  const bool emulates = options.emulated_stretch > 0.0;
  const StretchedCost stretched(machine.cost(), options.emulated_stretch);
  SimulationOptions simulation = options.simulation;
  if (emulates) simulation.share = false;
  p.simulation = within_the_clock(scenario, [&] {
    const KernelCost& cost = emulates ? static_cast<const KernelCost&>(stretched) : machine.cost();
    return simulate(p.schedule, scenario.cluster, cost, machine.network(), simulation);
  });
  if (p.simulation.deadlocked) refuse(scenario, "the schedule deadlocks", p.simulation.deadlock);
  Result& r = p.result;
  r.scenario = scenario.name;
  fill_simulated(p.simulation, r);
  fill_memory(scenario, fullest, r);
  fill_time_shares(p.schedule, p.simulation, r);
  fill_confidence(scenario.cluster, undisturbed, r);
  const StepFlops flops = step_flops(schedule::with_mean_rows(p.schedule), scenario.training.attention_flops_causal);
  r.model_flops = flops.model;
  r.hardware_flops = flops.hardware;
  fill_rates(scenario, r);
  append(r.warnings, memory_advice(scenario, fullest, r));
  append(r.warnings, time_advice(scenario, r));
  append(r.warnings, answer_advice(scenario, r, undisturbed.disobedient, unchecked));
  append(r.warnings, machine.advice());
  append(r.warnings, scenario.warnings);
  return p;
}

}  // namespace orrery::sim
