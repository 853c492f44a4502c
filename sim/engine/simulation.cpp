// Puts the parts together: messages -> plans -> classes -> cast, once; then, for each cut of the microbatch
// loops that the steady state asks for, flat programs and the event loop.
#include "sim/engine/simulation.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "schedule/expert_rows.h"
#include "sim/engine/actors.h"
#include "sim/engine/engine.h"
#include "sim/engine/meeting_slots.h"
#include "sim/engine/steady_state.h"

namespace orrery::sim {
namespace {

using engine::CutRun;

std::int64_t compute_of(const schedule::Program& program, const engine::FlatProgram& flat,
                        const std::vector<std::int64_t>& durations) {
  std::int64_t sum = 0;
  for (const engine::FlatOp& op : flat.ops)
    if (schedule::is_compute(program.ops[op.op].kind)) sum += durations[op.op];
  return sum;
}

using ByRows = std::map<std::int64_t, schedule::Schedule>;

class Simulation {
 public:
  Simulation(const schedule::Schedule& schedule, const ByRows& by_rows, const hardware::Cluster& cluster, const KernelCost& cost,
             const NetworkModel& network, const SimulationOptions& options)
      : schedule_(schedule),
        cluster_(cluster),
        options_(options),
        messages_(engine::collect_messages(schedule)),
        plans_(engine::make_plans(schedule, messages_, network)),
        use_(options.share ? engine::find_resource_use(schedule, messages_, plans_, network)
                           : engine::no_resource_use(schedule)),
        classes_(options.fold ? engine::classify_ranks(schedule, cluster, messages_, plans_, use_)
                              : engine::all_apart(schedule, messages_, network.resource_count())),
        cast_(engine::make_cast(
            {schedule, cluster, cost, network, messages_, plans_, use_, classes_, by_rows, options.share})),
        cut_(engine::find_cut(schedule)) {}

  SimulationResult result() {
    const bool extrapolate = options_.extrapolate && !options_.trace;
    engine::SteadyRun steady =
        engine::simulate_steadily(cut_, extrapolate, options_.affordable_events,
                                  [this](std::int64_t skip) { return simulate_cut(skip); });
    SimulationResult result;
    result.events = events_;
    result.fingerprint = steady.run.fingerprint;
    result.microbatches_simulated = schedule_.microbatches - steady.skipped * cut_.microbatches_per_iteration;
    result.exact = steady.exact;
    result.deadlocked = steady.run.deadlocked;
    result.deadlock = std::move(steady.run.deadlock);
    if (result.deadlocked) return result;
    result.step_time = Duration::from_ps(steady.step_time);
    result.trace = std::move(steady.run.trace);
    if (options_.trace)
      for (const std::uint32_t c : classes_.class_of) result.representative.push_back(classes_.representative[c]);
    for (std::size_t a = 0; a < cast_.actors.size(); ++a) result.classes.push_back(class_result(steady, a));
    return result;
  }

 private:
  CutRun simulate_cut(std::int64_t skip) {
    std::vector<engine::FlatProgram> flats = engine::flatten(schedule_, messages_, cut_, skip);
    const std::vector<std::uint32_t> slots = engine::choose_slots(messages_, flats);
    const std::int64_t issue_cost = cluster_.host_issue_cost.ps();
    CutRun cut;
    cut.run = engine::run_engine({.schedule = schedule_,
                                  .messages = messages_,
                                  .classes = classes_,
                                  .cast = cast_,
                                  .flats = flats,
                                  .slots_of_channel = slots,
                                  .issue_cost = issue_cost,
                                  .gpu_sms = cluster_.gpu.sms,
                                  .share = options_.share,
                                  .steps = options_.steps,
                                  .trace = options_.trace,
                                  .traced_steps = options_.traced_steps});
    events_ += cut.run.events;
    std::vector<std::int64_t> compute(cast_.durations.size(), -1);  // [profile]
    for (const engine::Actor& actor : cast_.actors) {
      const engine::FlatProgram& flat = flats[actor.program];
      if (compute[actor.profile] < 0)
        compute[actor.profile] =
            compute_of(schedule_.programs[actor.program], flat, cast_.durations[actor.profile]);
      cut.compute_alone.push_back(compute[actor.profile]);
      cut.host_time.push_back(issue_cost * flat.host_ops);
      cut.host_of_loops.push_back(host_of_loops(actor.program));
    }
    return cut;
  }

  // Time to issue one iteration of each repeat that is cut.
  std::vector<std::int64_t> host_of_loops(std::size_t p) const {
    const schedule::Program& program = schedule_.programs[p];
    std::vector<std::int64_t> times;
    for (std::size_t r = 0; r < program.repeats.size(); ++r) {
      std::int64_t ops = 0;
      for (std::uint32_t c = 0; c < program.repeats[r].call_count; ++c)
        ops += program.block(program.calls[program.repeats[r].first_call + c]).op_count;
      if (cut_.repeats[p][r] && ops > 0) times.push_back(ops * cluster_.host_issue_cost.ps());
    }
    return times;
  }

  ClassResult class_result(const engine::SteadyRun& steady, std::size_t a) const {
    ClassResult c;
    c.representative = cast_.actors[a].rank;
    c.ranks = cast_.actors[a].ranks;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kShares; ++i) {
      c.waterfall[i] = Duration::from_ps(steady.shares[a][i]);
      sum += steady.shares[a][i];
    }
    CHECK(sum == steady.step_time, sum, steady.step_time);
    for (std::size_t g = 0; g < schedule::kGroupKinds; ++g) c.communication[g] = Duration::from_ps(steady.communication[a][g]);
    c.communication_any = Duration::from_ps(steady.communication_any[a]);
    c.compute_alone = Duration::from_ps(steady.compute_alone[a]);
    return c;
  }

  const schedule::Schedule& schedule_;
  const hardware::Cluster& cluster_;
  const SimulationOptions& options_;
  engine::Messages messages_;
  engine::PlanTable plans_;
  engine::ResourceUse use_;
  engine::RankClasses classes_;
  engine::Cast cast_;
  engine::Cut cut_;
  std::uint64_t events_ = 0;
};

}  // namespace

SimulationResult simulate(const schedule::Schedule& schedule, const hardware::Cluster& cluster,
                          const KernelCost& cost, const NetworkModel& network,
                          const SimulationOptions& options) {
  CHECK(options.steps >= 1 && schedule.world >= 1, options.steps, schedule.world);
  CHECK(options.traced_steps >= 1 && options.traced_steps <= options.steps, options.traced_steps, options.steps);
  if (schedule.expert_rows.reserved == 0) return Simulation(schedule, {}, cluster, cost, network, options).result();
  // Exchanges take as long as the fullest rank's; kernels each rank's own.
  schedule::Schedule fullest = schedule::with_most_rows(schedule);
  ByRows by_rows;
  if (schedule.expert_rows.drawn.size() > 1) {
    for (const std::int64_t rows : schedule.expert_rows.drawn)
      if (!by_rows.contains(rows)) by_rows.emplace(rows, schedule::with_rows(schedule, rows));
    fullest.expert_rows.drawn = schedule.expert_rows.drawn;
  }
  return Simulation(fullest, by_rows, cluster, cost, network, options).result();
}

}  // namespace orrery::sim
