#include "tests/interpreter/perform_optimizer.h"

#include <fmt/format.h>

#include "tests/interpreter/kernels_optimizer.h"

namespace orrery::interpreter {
namespace {

using schedule::OpKind;
using schedule::Role;

const BoundView& bound(const OpContext& c, Role role) {
  for (const BoundView& b : c.issued().views)
    if (b.view->role == role) return b;
  throw ScheduleError(fmt::format("the op has no view of role {}", schedule::name(role)));
}

// Where a view of a unit's flat vector begins: in a buffer with room for the whole vector, at its offset; in a
// buffer of elements / shards, behind the shards of the lower ranks of the unit's shard group.
FlatRange flat_range(const OpContext& c, Role role) {
  const schedule::Unit* const unit = c.issued().unit;
  if (unit == nullptr) throw ScheduleError("an optimizer op needs a unit");
  const BoundView& view = bound(c, role);
  FlatRange range{view.offset, unit->decay_from, unit->replicated_until, unit->replicated_from, unit->used};
  const std::int64_t room = view.allocation->elements();
  if (room >= unit->elements) return range;
  if (room * unit->optimizer_shards != unit->elements)
    throw ScheduleError(fmt::format("{} elements are neither the unit's {} nor one of its {} shards", room,
                                    unit->elements, unit->optimizer_shards));
  range.first += c.index_in(unit->shard_group) * room;
  return range;
}

void optimizer_step(const OpContext& c) {
  const bool has_master = c.has(Role::master);
  const Role weights = has_master ? Role::master : Role::w;
  const schedule::Hyper& hyper = c.schedule().hyper;
  OptimizerState state;
  state.master = c.in_place(weights);
  if (has_master) state.w = c.maybe_out(Role::w);
  if (c.has(Role::moment1)) state.moment1 = c.in_place(Role::moment1);
  if (c.has(Role::moment2)) state.moment2 = c.in_place(Role::moment2);
  state.dw = c.in(Role::dw);
  state.step = c.issued().step + 1;
  const OptionalInput norm = c.maybe_in(Role::norm);
  if (hyper.clip_gradient_norm > 0.0 && !norm) throw ScheduleError("clipping is on and the op has no norm");
  if (norm) state.gradient_factor = clip_factor(hyper, (*norm)[0]);
  const FlatRange range = flat_range(c, weights);
  if (c.op().kind == OpKind::sgd) return sgd(state, range, hyper);
  adam(state, range, hyper);
}

void norm(const OpContext& c) {
  const bool counts_replicated = c.index_in(schedule::kTensor) == 0;
  double sum = 0.0;
  if (c.issued().unit == nullptr || !c.issued().unit->tied_copy)
    sum = squared_norm(c.in(Role::x), flat_range(c, Role::x), counts_replicated);
  c.out(Role::y).put(0, sum);
}

void select(const OpContext& c) {
  const TensorView y = c.out(Role::y).view;
  top_k_select(c.in(Role::x), y);
  for (const Output& x : c.outputs(Role::x)) top_k_keep_rest(y, x.view);
}

void apply(const OpContext& c) {
  const std::int64_t first = c.op().group == schedule::kNoGroup ? 0 : c.shard_index() * c.shape().m;
  top_k_apply(c.in(Role::x), first, c.in_place(Role::y));
}

}  // namespace

bool perform_optimizer(const OpContext& c) {
  const OpKind kind = c.op().kind;
  if (kind == OpKind::adam || kind == OpKind::cpu_adam || kind == OpKind::sgd) optimizer_step(c);
  else if (kind == OpKind::gradient_norm) norm(c);
  else if (kind == OpKind::top_k_select) select(c);
  else if (kind == OpKind::top_k_apply) apply(c);
  else return false;
  return true;
}

}  // namespace orrery::interpreter
