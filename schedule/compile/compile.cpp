// Scenario to Schedule: one program per pipeline stage. Tensor- and data-parallel ranks of a stage share it,
// so the cost grows with stages and layers per stage, never with ranks or microbatches.
#include "schedule/compile.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "schedule/compile/program_writer.h"
#include "schedule/compile/stage.h"

namespace orrery::schedule {
namespace {

Group axis(const std::string& name, std::int64_t stride, std::int64_t size) {
  return {.name = name, .stride = stride, .size = size, .period = size, .step = 1};
}

// Groups that only some plans have; see kind_of_group.
void append_further(std::vector<Group>& groups, const scenarios::Parallel& p) {
  if (p.pp == 2 && p.vpp > 1) groups.push_back(axis("pipe_backward", p.pp_stride, p.pp));
  if (p.cp > 1) {
    groups.push_back(axis("context", p.cp_stride, p.cp));
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
  append_further(groups, p);
  append_shard_groups(scenario, groups);
  return groups;
}

void compile_stage(const scenarios::Scenario& scenario, Schedule& schedule, std::int64_t index) {
  const scenarios::Parallel& p = scenario.parallel;
  Program& program = schedule.programs[static_cast<std::size_t>(index)];
  program.name = "stage" + std::to_string(index);
  Stage s{.scenario = scenario, .schedule = schedule, .program = program, .index = index, .chunks = p.vpp};
  for (std::int64_t c = 0; c < p.vpp; ++c)
    s.layers_of_chunk.push_back(p.layers_of_stage[static_cast<std::size_t>(c * p.pp + index)]);
  s.has_embedding = index == 0;
  s.has_head = index == p.pp - 1;
  s.tied_here = scenario.model.tied_embeddings && p.pp == 1;
  s.tied_across = scenario.model.tied_embeddings && p.pp > 1 && (s.has_embedding || s.has_head);
  CHECK(!(s.tied_across && s.zero() >= 2), "a tied embedding on two stages under ZeRO-2 or 3");
  for (std::size_t c = 0; c < s.layers_of_chunk.size(); ++c) {
    const std::int64_t v = static_cast<std::int64_t>(c) * p.pp + index;
    CHECK(s.layers_of_chunk[c] > 0 || v == 0 || v == p.pp * p.vpp - 1, "a stage in the middle has no layer",
          v);
  }
  const PipelineShape shape{.stages = p.pp, .chunks = p.vpp, .microbatches = scenario.training.microbatches};
  const std::vector<Action> order = pipeline_order(p.schedule, shape, index);
  prepare_stage(s, microbatches_in_flight(order) + (s.overlaps_pipe() ? 1 : 0));
  write_program(s, order, pipeline_period(p.schedule, shape));
}

}  // namespace

Schedule compile(const scenarios::Scenario& scenario) {
  const scenarios::Parallel& p = scenario.parallel;
  const scenarios::Training& t = scenario.training;
  CHECK(static_cast<std::int64_t>(p.layers_of_stage.size()) == p.pp * p.vpp, p.layers_of_stage.size());
  Schedule schedule;
  schedule.name = scenario.name;
  schedule.world = p.world();
  schedule.groups = groups_of(scenario);
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
  for (std::int64_t i = 0; i < p.pp; ++i) compile_stage(scenario, schedule, i);
  return schedule;
}

}  // namespace orrery::schedule
