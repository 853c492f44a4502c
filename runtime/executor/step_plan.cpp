#include "runtime/executor/step_plan.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace orrery::runtime {
namespace {

using schedule::Call;
using schedule::Op;
using schedule::OpKind;

using Instance = std::pair<std::uint32_t, std::uint32_t>;  // buffer, instance

// Which meetings count together: collectives of a group, or messages of a group in one direction on one channel.
using Port = std::tuple<std::uint8_t, int, std::int64_t, std::uint32_t>;  // group, kind of meeting, peer, channel

Port port_of(const schedule::Schedule& s, const Op& op) {
  if (schedule::is_collective(op.kind)) return {op.group, 0, 0, 0};
  const std::int64_t size = s.groups[op.group].size;
  return {op.group, op.kind == OpKind::send ? 1 : 2, ((op.peer % size) + size) % size, op.site};
}

class Planner {
 public:
  Planner(const schedule::Schedule& s, std::int64_t rank) {
    plan_.schedule = &s;
    plan_.program = &s.program_of(rank);
    plan_.rank = rank;
    for (std::size_t b = 0; b < plan_.program->buffers.size(); ++b) {
      const schedule::Buffer& buffer = plan_.program->buffers[b];
      live_.emplace_back(buffer.instances, kNone);
      if (!buffer.persistent) continue;
      for (std::uint32_t i = 0; i < buffer.instances; ++i) {
        live_[b][i] = static_cast<std::uint32_t>(plan_.allocations.size());
        plan_.allocations.push_back({BufferId(b), i, true, 0, 0});
      }
    }
  }

  StepPlan run() {
    // The first walk finds what each step leaves recorded for the next one, the second one plans.
    for (int pass = 0; pass < 2; ++pass) {
      const bool planning = pass == 1;
      next_ = 0;
      last_host_wait_.previous_step = true;
      for (auto& [instance, wait] : recorded_) wait.previous_step = true;
      schedule::for_each_call(*plan_.program, std::numeric_limits<std::uint32_t>::max(),
                              [&](const Call& call, std::uint32_t microbatch, std::uint32_t) {
                                for (std::uint32_t i = 0; i < plan_.program->block(call).op_count; ++i)
                                  visit(call, microbatch, i, planning);
                              });
    }
    finish_queues();
    for (PlannedOp& op : plan_.ops)
      if (schedule::is_communication(op.op->kind)) op.per_step = meetings_[port_of(*plan_.schedule, *op.op)];
    return std::move(plan_);
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  Instance instance(const Call& call, std::uint32_t microbatch, std::uint16_t formal) const {
    const schedule::Formal& f = plan_.program->formals_of(plan_.program->block(call))[formal];
    return {f.buffer.value, plan_.program->instance(f, call, microbatch)};
  }

  void visit(const Call& call, std::uint32_t microbatch, std::uint32_t i, bool planning) {
    const schedule::Block& block = plan_.program->block(call);
    const Op& op = plan_.program->ops_of(block)[i];
    const std::uint32_t id = next_++;
    if (planning) {
      PlannedOp planned{.op = &op, .block = &block, .unit = nullptr, .unit_index = call.unit, .microbatch = microbatch};
      if (call.unit < plan_.program->units.size()) planned.unit = &plan_.program->units[call.unit];
      bind_views(planned, call, id);
      add_waits(planned, call);
      if (schedule::is_communication(op.kind)) planned.sequence = meetings_[port_of(*plan_.schedule, op)]++;
      enqueue(planned, id);
      plan_.ops.push_back(planned);
    }
    if (op.kind == OpKind::host_wait) last_host_wait_ = {id, false};
    if (op.kind == OpKind::host_wait) has_host_wait_ = true;
    if (op.record != schedule::kNoFormal) recorded_[instance(call, microbatch, op.record)] = {id, false};
  }

  void bind_views(PlannedOp& planned, const Call& call, std::uint32_t id) {
    planned.first_view = static_cast<std::uint32_t>(plan_.views.size());
    const auto views = plan_.program->views_of(*planned.op);
    for (const schedule::View& view : views) {
      const auto [buffer, at] = instance(call, planned.microbatch, view.formal);
      if (view.allocates) {
        live_[buffer][at] = static_cast<std::uint32_t>(plan_.allocations.size());
        plan_.allocations.push_back({BufferId(buffer), at, false, id, kNone});
      }
      std::int64_t offset = view.offset;
      if (view.shard_stride != 0) {
        CHECK(schedule::shard_group(*planned.op) < plan_.schedule->groups.size(), "a sharded view needs a group");
        offset += plan_.schedule->groups[schedule::shard_group(*planned.op)].index(plan_.rank) * view.shard_stride;
      }
      CHECK(live_[buffer][at] != kNone, plan_.program->buffers[buffer].name, at);
      plan_.views.push_back({&view, live_[buffer][at], offset});
    }
    planned.view_count = static_cast<std::uint32_t>(views.size());
    for (const schedule::View& view : views) {
      if (!view.frees) continue;
      const auto [buffer, at] = instance(call, planned.microbatch, view.formal);
      plan_.allocations[live_[buffer][at]].freed_by = id;
      live_[buffer][at] = kNone;
    }
  }

  // Only the first op of a stream behind a host_wait needs it; the others come after that one.
  void add_waits(PlannedOp& planned, const Call& call) {
    planned.first_wait = static_cast<std::uint32_t>(plan_.waits.size());
    for (const std::uint16_t formal : plan_.program->waits_of(*planned.op))
      if (const auto found = recorded_.find(instance(call, planned.microbatch, formal)); found != recorded_.end())
        plan_.waits.push_back(found->second);
    HostWait& seen = seen_[static_cast<std::size_t>(planned.op->stream)];
    if (has_host_wait_ && (!seen.any || seen.wait.op != last_host_wait_.op ||
                           seen.wait.previous_step != last_host_wait_.previous_step)) {
      plan_.waits.push_back(last_host_wait_);
      seen = {true, last_host_wait_};
    }
    planned.wait_count = static_cast<std::uint32_t>(plan_.waits.size()) - planned.first_wait;
  }

  void enqueue(PlannedOp& planned, std::uint32_t id) {
    const auto stream = static_cast<std::size_t>(planned.op->stream);
    auto& queue = queues_[stream];
    if (!open_run_[stream]) queue.emplace_back();
    queue.back().push_back(id);
    planned.entry = static_cast<std::uint32_t>(queue.size() - 1);
    open_run_[stream] = planned.op->grouped;
  }

  void finish_queues() {
    for (std::size_t s = 0; s < queues_.size(); ++s) {
      CHECK(!open_run_[s], "a grouped run has no end", s);
      for (const std::vector<std::uint32_t>& run : queues_[s]) {
        plan_.streams[s].push_back({static_cast<std::uint32_t>(plan_.queued.size()), static_cast<std::uint32_t>(run.size())});
        plan_.queued.insert(plan_.queued.end(), run.begin(), run.end());
      }
    }
  }

  struct HostWait {
    bool any = false;
    PlannedWait wait;
  };

  StepPlan plan_;
  std::uint32_t next_ = 0;
  std::vector<std::vector<std::uint32_t>> live_;  // allocation by buffer and instance
  std::map<Instance, PlannedWait> recorded_;
  std::map<Port, std::uint32_t> meetings_;
  PlannedWait last_host_wait_;
  bool has_host_wait_ = false;
  std::array<HostWait, schedule::kStreams> seen_{};
  std::array<std::vector<std::vector<std::uint32_t>>, schedule::kStreams> queues_;
  std::array<bool, schedule::kStreams> open_run_{};
};

}  // namespace

StepPlan plan_step(const schedule::Schedule& schedule, std::int64_t rank) { return Planner(schedule, rank).run(); }

std::string describe(const StepPlan& plan, std::uint32_t op) {
  const PlannedOp& p = plan.ops[op];
  return fmt::format("{} ({}.{}, unit {}, microbatch {})", schedule::name(p.op->kind), p.block->name,
                     p.op - plan.program->ops_of(*p.block).data(), p.unit_index, p.microbatch);
}

std::vector<std::int64_t> sides_of(const StepPlan& plan, const PlannedOp& op) {
  const schedule::Group& group = plan.schedule->groups[op.op->group];
  std::vector<std::int64_t> sides;
  if (schedule::is_collective(op.op->kind)) {
    for (std::int64_t i = 0; i < group.size; ++i) sides.push_back(group.member(plan.rank, i));
    return sides;
  }
  const std::int64_t index = group.index(plan.rank);
  const std::int64_t other = group.member(plan.rank, ((index + op.op->peer) % group.size + group.size) % group.size);
  return {plan.rank, other};
}

}  // namespace orrery::runtime
