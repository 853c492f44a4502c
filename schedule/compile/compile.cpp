// Scenario to Schedule: one program per pipeline stage. Tensor- and data-parallel ranks of a stage share it,
// so the cost grows with stages and layers per stage, never with ranks or microbatches.
#include "schedule/compile.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "schedule/compile/deferred_head.h"
#include "schedule/compile/pipeline_order.h"
#include "schedule/compile/program_writer.h"
#include "schedule/compile/stage.h"
#include "schedule/compile/stage_times.h"
#include "schedule/expert_rows.h"

namespace orrery::schedule {
namespace {

Group axis(const std::string& name, std::int64_t stride, std::int64_t size) {
  return {.name = name, .stride = stride, .size = size, .period = size, .step = 1};
}

Placement placement_of(const scenarios::Parallel& p) {
  const scenarios::PlacementKind kind = scenarios::traits(p.schedule).placement;
  return {.kind = kind, .ranks = p.pp, .chunks = kind == scenarios::PlacementKind::mirrored ? 2 : p.vpp};
}

// Where a rank sends forward and backward messages to the same rank, the two sides take turns that differ: each
// direction then needs a communicator of its own, or they would be mistaken for one another.
bool needs_backward_group(const scenarios::Parallel& p) {
  const Placement placement = placement_of(p);
  return p.pp > 1 && placement.chunks > 1 && (p.pp == 2 || placement.kind != scenarios::PlacementKind::loop);
}

// Groups that only some plans have; see kind_of_group.
void append_further(std::vector<Group>& groups, const scenarios::Parallel& p, bool experts) {
  if (needs_backward_group(p)) groups.push_back(axis("pipe_backward", p.pp_stride, p.pp));
  if (experts) {
    if (p.ep > 1) groups.push_back(axis("expert", p.ep_stride, p.ep));
    if (p.etp > 1) groups.push_back(axis("expert_tensor", p.etp_stride, p.etp));
    if (p.edp > 1) groups.push_back(axis("expert_data", p.edp_stride, p.edp));
  }
  if (p.cp > 1) {
    // Heads are exchanged inside, between neighbours; the ring is among those that are left.
    if (p.cp > p.ulysses) groups.push_back(axis("context", p.cp_stride * p.ulysses, p.cp / p.ulysses));
    if (p.ulysses > 1) groups.push_back(axis("ulysses", p.cp_stride, p.ulysses));
    groups.push_back(axis("gradient", std::min(p.cp_stride, p.dp_stride), p.replicas()));
  }
}

std::vector<Group> groups_of(const scenarios::Scenario& scenario) {
  const scenarios::Parallel& p = scenario.parallel;
  std::vector<Group> groups{axis("world", 1, p.world()), axis("tensor", p.tp_stride, p.tp),
                            axis("data", p.dp_stride, p.dp), axis("pipe", p.pp_stride, p.pp)};
  Group ends{.name = "embedding", .stride = p.pp_stride, .size = 1, .period = 1, .step = 1};
  if (p.pp > 1) {
    ends.size = 2;
    ends.period = p.pp;
    ends.step = p.pp - 1;
  }
  groups.push_back(ends);
  append_further(groups, p, scenario.model.experts.count > 0);
  append_shard_groups(scenario, groups);
  return groups;
}

// Which layers, ends and gradients the chunks of the stage have.
void place_chunks(Stage& s) {
  const scenarios::Parallel& p = s.scenario.parallel;
  for (std::uint32_t c = 0; c < static_cast<std::uint32_t>(s.chunks); ++c) {
    const std::int64_t stage = s.placement.stage(s.index, c);
    s.layers_of_chunk.push_back(p.layers_of_stage[static_cast<std::size_t>(stage)]);
    CHECK(s.layers_of_chunk.back() > 0 || s.is_first(c) || s.is_last(c), "a stage in the middle has no layer", stage);
    const bool joined = c > 0 && s.placement.next(s.index, c - 1).kind == Hop::Kind::local;
    s.parity_of_chunk.push_back(c == 0 ? 0 : joined ? s.parity_of_chunk.back() : 1 - s.parity_of_chunk.back());
    if (s.is_first(c)) {
      s.has_embedding = true;
      s.embedding_chunk = c;
    }
    if (s.is_last(c)) {
      s.has_head = true;
      s.head_chunk = c;
    }
  }
}

void compile_stage(const scenarios::Scenario& scenario, Schedule& schedule, std::int64_t index, const Order& order) {
  const scenarios::Parallel& p = scenario.parallel;
  Program& program = schedule.programs[static_cast<std::size_t>(index)];
  program.name = "stage" + std::to_string(index);
  Stage s{.scenario = scenario, .schedule = schedule, .program = program, .index = index,
          .placement = placement_of(p)};
  s.chunks = s.placement.chunks;
  place_chunks(s);
  const bool tied = scenario.model.tied_embeddings;
  s.tied_here = tied && s.has_embedding && s.has_head;
  s.tied_across = tied && s.has_embedding != s.has_head;
  CHECK(!(s.tied_across && s.zero() >= 2), "a tied embedding on two stages under ZeRO-2 or 3");
  s.deferred = deferred_microbatches(s);
  // What a deferred product reads outlives the microbatches in between.
  prepare_stage(s, s.deferred > 0 ? static_cast<std::uint32_t>(schedule.microbatches)
                                  : microbatches_in_flight(order) + (s.overlaps_pipe() ? 1 : 0));
  write_program(s, order);
}

}  // namespace

Schedule compile(const scenarios::Scenario& scenario) {
  const scenarios::Parallel& p = scenario.parallel;
  const scenarios::Training& t = scenario.training;
  const Placement placement = placement_of(p);
  CHECK(static_cast<std::int64_t>(p.layers_of_stage.size()) == placement.stages(), p.layers_of_stage.size());
  Schedule schedule;
  schedule.name = scenario.name;
  schedule.world = p.world();
  schedule.groups = groups_of(scenario);
  if (scenario.model.experts.count > 0)
    schedule.expert_rows = {.reserved = reserved_rows(scenario), .drawn = drawn_rows(scenario)};
  schedule.program_group = schedule.groups[kPipe];
  schedule.microbatches = t.microbatches;
  schedule.model = scenario.model;
  schedule.hyper = {.learning_rate = t.learning_rate,
                    .weight_decay = t.weight_decay,
                    .beta1 = t.beta1,
                    .beta2 = t.beta2,
                    .epsilon = t.epsilon,
                    .clip_gradient_norm = t.clip_gradient_norm,
                    .seed = t.seed};
  schedule.programs.resize(static_cast<std::size_t>(p.pp));
  const std::vector<Order> orders = pipeline_orders(p.schedule, {.stages = p.pp,
                                                                 .chunks = placement.chunks,
                                                                 .microbatches = t.microbatches,
                                                                 .in_flight = p.in_flight,
                                                                 .times = stage_times(scenario, placement)});
  for (std::int64_t i = 0; i < p.pp; ++i)
    compile_stage(scenario, schedule, i, orders[static_cast<std::size_t>(i)]);
  return schedule;
}

}  // namespace orrery::schedule
