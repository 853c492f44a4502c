#include "sim/metrics/simulated_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/check.h"
#include "schedule/memory.h"

namespace orrery::sim {
namespace {

std::int64_t floor_ns(std::int64_t ps) { return ps >= 0 ? ps / 1000 : -((-ps + 999) / 1000); }

schedule::RankTrace rank_trace(const schedule::Schedule& schedule, std::int64_t rank) {
  const schedule::MemoryPeak peak = schedule::memory_peak(schedule.program_of(rank));
  return {.rank = rank, .peak_live_bytes = peak.peak.count(), .peak_host_bytes = peak.host_peak.count()};
}

}  // namespace

PredictOptions with_steady_trace(PredictOptions options) {
  options.simulation.trace = true;
  options.simulation.traced_steps = kSteadyTracedSteps;
  options.simulation.steps = kSteadyTracedSteps + 1;
  return options;
}

schedule::Trace to_trace(const schedule::Schedule& schedule, const SimulationResult& simulation) {
  CHECK(!simulation.trace.empty() && !simulation.representative.empty(), schedule.name);
  std::vector<const TraceRecord*> records;
  records.reserve(simulation.trace.size());
  for (const TraceRecord& r : simulation.trace) records.push_back(&r);
  std::sort(records.begin(), records.end(), [](const TraceRecord* a, const TraceRecord* b) {
    return std::tie(a->rank, a->step, a->op) < std::tie(b->rank, b->step, b->op);
  });
  schedule::Trace trace{.fingerprint = schedule::fingerprint(schedule), .world = schedule.world};
  trace.first_step = records.front()->step;
  trace.steps = records.back()->step - trace.first_step + 1;
  std::int64_t origin = std::numeric_limits<std::int64_t>::max();
  for (const TraceRecord* r : records)
    if (r->step == trace.first_step) origin = std::min(origin, r->start.ps());
  for (const TraceRecord* r : records) {
    if (trace.ranks.empty() || trace.ranks.back().rank != r->rank)
      trace.ranks.push_back(rank_trace(schedule, r->rank));
    trace.ranks.back().records.push_back({r->step, r->op, floor_ns(r->ready.ps() - origin),
                                          floor_ns(r->start.ps() - origin), floor_ns(r->end.ps() - origin)});
  }
  if (static_cast<std::int64_t>(trace.ranks.size()) < schedule.world)
    trace.representative = simulation.representative;
  return trace;
}

schedule::Trace to_trace(const scenarios::Scenario& scenario, const Prediction& prediction) {
  schedule::Trace trace = to_trace(prediction.schedule, prediction.simulation);
  trace.scenario = scenario.name;
  trace.scenario_path = scenario.path;
  trace.machine = fmt::format("simulated: {}", scenario.cluster.name);
  return trace;
}

}  // namespace orrery::sim
