#include "schedule/compile/optimizer_blocks.h"

#include <string>

#include "schedule/compile/data_parallel.h"

namespace orrery::schedule {
namespace {

Tensor norm_tensor(Stage& s, BlockBuilder& b) { return b.tensor(s.norm, {}, Life::bound, 1, 1); }

void add_states(Stage& s, BlockBuilder& b, UnitKind kind, std::vector<Operand>& views) {
  const scenarios::Optimizer optimizer = s.scenario.training.optimizer;
  const UnitStates& states = s.states(kind);
  if (optimizer != scenarios::Optimizer::sgd)
    views.push_back(accumulate(Role::moment1, flat_kept(s, b, kind, states.moment1)));
  if (optimizer == scenarios::Optimizer::adam)
    views.push_back(accumulate(Role::moment2, flat_kept(s, b, kind, states.moment2)));
}

// Experts are shared out over other groups than the rest, so their sum is kept apart until both are whole.
Tensor norm_of_experts(Stage& s, BlockBuilder& b) {
  const BufferId id = declare_once(s, {.name = "gradient_norm.experts",
                                       .kind = BufferKind::workspace,
                                       .type = DataType::fp32,
                                       .persistent = true,
                                       .elements = 1});
  return b.tensor(id, {}, Life::bound, 1, 1);
}

}  // namespace

Tensor own_part(Stage& s, BlockBuilder& b, UnitKind kind, BufferId buffer) {
  const Tensor t = flat_kept(s, b, kind, buffer);
  const bool whole = s.program.buffers[buffer.index()].elements == s.unit(kind).elements;
  return s.zero(kind) >= 1 && whole ? own_shard(t, s.shards(kind)) : t;
}

// Reduced gradients come with the event of the last reduction (ZeRO-0, 1) or of the unit's own (ZeRO-2, 3).
void after_reduction(Stage& s, BlockBuilder& b, UnitKind kind) {
  if (s.replicas(kind) == 1) return;
  if (s.zero(kind) < 2) {
    b.begin_after(reduced_token(s, b));
    return;
  }
  s.gradients_life.fill(Life::bound);
  b.begin_after(flat_gradients(s, b, kind).formal);
  b.begin_after(flat_kept(s, b, kind, s.states(kind).kept_gradients).formal);
}

BlockId begin_step(Stage& s) {
  BlockBuilder b(s.schedule, s.program, "begin_step", Phase::setup);
  b.add(OpKind::fill, {out(Role::y, norm_tensor(s, b))});
  if (s.unit_count(UnitKind::experts) > 0) b.add(OpKind::fill, {out(Role::y, norm_of_experts(s, b))});
  if (s.has_head) b.add(OpKind::fill, {out(Role::y, b.tensor(s.loss, {}, Life::bound, 1, 1))});
  return b.finish();
}

BlockId zero_gradients(Stage& s, UnitKind kind) {
  BlockBuilder b(s.schedule, s.program, "zero_gradients", Phase::setup);
  // With states on the host, the last step's gradients may still be on their way there until its weights came
  // back.
  if (s.scenario.offload.optimizer == scenarios::OffloadTarget::cpu)
    b.begin_after(flat_kept(s, b, kind, s.states(kind).kept_weights).formal);
  b.add(OpKind::fill, {out(Role::y, flat_kept(s, b, kind, s.states(kind).kept_gradients))});
  return b.finish();
}

BlockId begin_whole_gradients(Stage& s, UnitKind kind) {
  BlockBuilder b(s.schedule, s.program, "begin_whole_gradients", Phase::setup);
  s.gradients_life.fill(Life::born);
  const Tensor whole = flat_gradients(s, b, kind);
  b.begin_after(whole.formal);  // reduced in the last step
  b.add(OpKind::fill, {out(Role::y, whole)});
  return b.finish();
}

BlockId gradient_norm(Stage& s, UnitKind kind) {
  BlockBuilder b(s.schedule, s.program, "gradient_norm", Phase::optimizer);
  after_reduction(s, b, kind);
  b.add(OpKind::gradient_norm, {in(Role::x, own_part(s, b, kind, s.states(kind).kept_gradients)),
                                accumulate(Role::y, kind == UnitKind::experts ? norm_of_experts(s, b) : norm_tensor(s, b))})
      .group(s.shard_group(kind));
  return b.finish();
}

BlockId finish_norm(Stage& s) {
  BlockBuilder b(s.schedule, s.program, "finish_norm", Phase::optimizer);
  const Tensor norm = norm_tensor(s, b);
  const auto over = [&](Tensor sum, std::int64_t size, std::uint8_t group) {
    if (size > 1) b.add(OpKind::all_reduce, {accumulate(Role::y, sum)}).group(group).record(sum.formal);
  };
  const scenarios::Parallel& p = s.scenario.parallel;
  over(norm, p.tp, kTensor);
  if (s.zero() >= 1) over(norm, s.shard.shards, s.shard.shard_group);
  if (s.unit_count(UnitKind::experts) > 0) {
    const Tensor experts = norm_of_experts(s, b);
    over(experts, p.ep, find_group(s.schedule, "expert"));
    over(experts, p.etp, find_group(s.schedule, "expert_tensor"));
    over(experts, s.shards(UnitKind::experts), s.shard_group(UnitKind::experts));
    b.add(OpKind::add, {in(Role::x, experts), accumulate(Role::y, norm)});
  }
  over(norm, p.pp, kPipe);
  // The event exists even where nothing is reduced: the device's last word on the norm.
  b.add(OpKind::cast, {in(Role::x, norm), out(Role::y, workspace(s, b, "norm.read", DataType::fp32, 1, 1))})
      .record(norm.formal);
  b.add(OpKind::host_wait, {}).on(Stream::host).wait(norm.formal);
  return b.finish();
}

BlockId update_weights(Stage& s, UnitKind kind) {
  BlockBuilder b(s.schedule, s.program, "update_weights", Phase::optimizer);
  after_reduction(s, b, kind);
  const UnitStates& states = s.states(kind);
  std::vector<Operand> views{in(Role::dw, own_part(s, b, kind, states.kept_gradients))};
  if (s.needs_norm()) views.push_back(in(Role::norm, norm_tensor(s, b)));
  const Tensor weights = own_part(s, b, kind, states.kept_weights);
  const bool has_master = states.master != states.kept_weights;
  views.push_back(accumulate(Role::master, has_master ? flat_kept(s, b, kind, states.master) : weights));
  add_states(s, b, kind, views);
  if (has_master) views.push_back(out(Role::w, weights));
  const OpKind op = s.scenario.training.optimizer == scenarios::Optimizer::adam ? OpKind::adam : OpKind::sgd;
  b.add(op, views).group(s.shard_group(kind)).record(weights.formal);
  return b.finish();
}

BlockId update_on_host(Stage& s, UnitKind kind) {
  BlockBuilder b(s.schedule, s.program, "update_on_host", Phase::optimizer);
  after_reduction(s, b, kind);
  const UnitStates& states = s.states(kind);
  const Tensor gradients = own_part(s, b, kind, states.kept_gradients);
  const Tensor weights = own_part(s, b, kind, states.kept_weights);
  const auto on_host = [&](const std::string& name, DataType type, std::int64_t elements) {
    const BufferId id = declare_once(s, {.name = std::string(prefix(kind)) + "." + name,
                                         .kind = BufferKind::communication,
                                         .type = type,
                                         .on_host = true,
                                         .persistent = true,
                                         .elements = elements,
                                         .instances = s.unit_count(kind)});
    return flat_kept(s, b, kind, id);
  };
  const Tensor host_gradients = on_host("host_gradients", s.kept_gradient_type, gradients.count());
  const Tensor host_weights = on_host("host_weights", s.kept_weight_type, weights.count());
  const bool reads_norm = s.needs_norm();
  b.add(OpKind::copy_to_host, {in(Role::x, gradients), out(Role::y, host_gradients)})
      .on(Stream::to_host)
      .group(s.shard_group(kind))
      .wait(done(s, b, kind));
  std::vector<Operand> views{in(Role::dw, host_gradients)};
  if (reads_norm) views.push_back(in(Role::norm, norm_tensor(s, b)));
  views.push_back(accumulate(Role::master, flat_kept(s, b, kind, states.master)));
  add_states(s, b, kind, views);
  views.push_back(out(Role::w, host_weights));
  b.add(OpKind::cpu_adam, views).on(Stream::cpu).group(s.shard_group(kind));
  if (reads_norm) b.wait(norm_tensor(s, b).formal);
  b.add(OpKind::copy_to_device, {in(Role::x, host_weights), out(Role::y, weights)})
      .on(Stream::to_device)
      .group(s.shard_group(kind))
      .record(weights.formal);
  return b.finish();
}

}  // namespace orrery::schedule
