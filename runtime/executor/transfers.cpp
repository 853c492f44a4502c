#include "runtime/executor/transfers.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "runtime/executor/element.h"
#include "runtime/executor/expert_counts.h"

namespace orrery::runtime {
namespace {

using schedule::DataType;
using schedule::OpKind;

CommKind comm_kind(OpKind kind) {
  if (kind == OpKind::all_reduce) return CommKind::all_reduce;
  if (kind == OpKind::reduce_scatter) return CommKind::reduce_scatter;
  if (kind == OpKind::all_gather) return CommKind::all_gather;
  if (kind == OpKind::all_to_all) return CommKind::all_to_all;
  if (kind == OpKind::broadcast) return CommKind::broadcast;
  CHECK(schedule::is_point_to_point(kind), schedule::name(kind));
  return kind == OpKind::send ? CommKind::send : CommKind::recv;
}

// What both sides of a meeting must agree on.
std::uint64_t signature_of(const CommCall& call, std::uint32_t microbatch) {
  const bool message = call.kind == CommKind::send || call.kind == CommKind::recv;
  std::uint64_t hash = 0;
  const auto absorb = [&](std::uint64_t word) { hash = mix_bits(hash ^ (word + 0x9E3779B97F4A7C15ULL)); };
  absorb(message ? 0 : static_cast<std::uint64_t>(call.kind) + 1);
  absorb(static_cast<std::uint64_t>(call.reduce));
  absorb(static_cast<std::uint64_t>(call.element));
  if (message) absorb(microbatch);
  std::int64_t x = 0, y = 0;
  for (const Piece& p : call.x) x += p.count();
  for (const Piece& p : call.y) y += p.count();
  absorb(static_cast<std::uint64_t>(message ? x + y : std::max(x, y)));
  return hash;
}

// Rows of experts: to the ranks that hold them, or back (x is what they received); over ranks that hold parts of them.
std::function<std::int64_t(int, int)> counted_parts(const StepPlan& plan, const PlannedOp& op, const ExpertCounts& table) {
  std::int64_t columns = 0;
  bool back = false;
  for (const PlannedView& v : plan.views_of(op))
    if (v.view->role == schedule::Role::x) {
      columns = v.view->columns;
      back = plan.buffer(plan.allocations[v.allocation]).extent != schedule::Extent::fixed;
    }
  const bool exchanges = op.op->kind == OpKind::all_to_all, gathers = op.op->kind == OpKind::all_gather;
  return [=](int from, int to) {
    const std::int64_t rows = !exchanges ? table.received(gathers ? from : to)
                              : back     ? table.rows_between(table.tensor_index, to, from)
                                         : table.rows_between(table.tensor_index, from, to);
    return rows * columns;
  };
}

CommCall comm_call(const PlacedPlan& placed, std::uint32_t id) {
  const StepPlan& plan = placed.plan;
  const PlannedOp& op = plan.ops[id];
  CommCall call;
  call.kind = comm_kind(op.op->kind);
  call.reduce = plan.shape(op).reduce == schedule::Reduce::max ? CommReduce::max : CommReduce::sum;
  call.what = describe(plan, id);
  const std::int64_t size = plan.schedule->groups[op.op->group].size;
  if (schedule::is_point_to_point(op.op->kind)) {
    const std::int64_t index = plan.schedule->groups[op.op->group].index(plan.rank);
    call.peer = ((index + op.op->peer) % size + size) % size;
    call.channel = op.op->site;
  }
  bool first = true;
  const auto views = plan.views_of(op);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const schedule::View& v = *views[i].view;
    if (v.count() == 0) continue;
    if (v.role == schedule::Role::counts) {
      const auto* const counts = reinterpret_cast<const std::int32_t*>(placed.view_data[op.first_view + i]);
      call.elements = counted_parts(plan, op, expert_counts(*plan.schedule, plan.rank, counts, v.columns));
      continue;
    }
    const DataType type = plan.buffer(plan.allocations[views[i].allocation]).type;
    const Element element = element_of(type, placed.device.element_bytes(type) == sizeof(double));
    CHECK(first || element == call.element, call.what, "has operands of two types");
    call.element = element;
    first = false;
    const Piece piece{placed.view_data[op.first_view + i], v.rows, v.columns, v.rows == 1 ? v.columns : v.row_stride};
    if (v.role == schedule::Role::x) call.x.push_back(piece);
    else call.y.push_back(piece);
    if (v.role == schedule::Role::y && op.op->kind == OpKind::reduce_scatter)
      call.adds = v.access == schedule::Access::update;
  }
  if (!call.elements) call.signature = signature_of(call, op.microbatch);
  return call;
}

}  // namespace

std::unique_ptr<Communicator> communicator_of_all(World& world, const std::string& name) {
  std::vector<int> ranks(static_cast<std::size_t>(world.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return world.communicator(ranks, name);
}

Communicators group_communicators(const StepPlan& plan, World& world) {
  Communicators communicators;
  for (const schedule::Group& group : plan.schedule->groups) {
    communicators.emplace_back();
    if (!group.contains(plan.rank) || group.size < 2) continue;
    std::vector<int> ranks;
    for (std::int64_t i = 0; i < group.size; ++i) ranks.push_back(static_cast<int>(group.member(plan.rank, i)));
    communicators.back() = world.communicator(ranks, group.name);
  }
  return communicators;
}

void EntryTransfer::sequences(const StepPlan& plan, std::int64_t step, std::vector<std::uint64_t>& into) const {
  into.clear();
  for (const std::uint32_t id : ops) {
    const PlannedOp& op = plan.ops[id];
    into.push_back(static_cast<std::uint64_t>(step) * op.per_step + op.sequence);
  }
}

std::vector<EntryTransfer> prepare_entry(const PlacedPlan& placed, const QueueEntry& entry, const Communicators& communicators) {
  const auto ops = placed.plan.ops_of(entry);
  const auto group_of = [&](std::uint32_t op) { return placed.plan.ops[op].op->group; };
  std::vector<EntryTransfer> transfers;
  if (!schedule::is_communication(placed.plan.ops[ops.front()].op->kind)) return transfers;
  std::vector<std::uint8_t> groups;
  for (const std::uint32_t op : ops)
    if (std::find(groups.begin(), groups.end(), group_of(op)) == groups.end()) groups.push_back(group_of(op));
  for (const std::uint8_t group : groups) {
    EntryTransfer& t = transfers.emplace_back();
    std::vector<CommCall> calls;
    for (const std::uint32_t op : ops) {
      if (group_of(op) != group) continue;
      t.ops.push_back(op);
      calls.push_back(comm_call(placed, op));
    }
    CHECK(communicators[group] != nullptr, calls.front().what, "needs a group of several ranks");
    t.transfer = communicators[group]->prepare(std::move(calls));
  }
  return transfers;
}

}  // namespace orrery::runtime
