#include "schedule/compile/context_parallel.h"

#include <string>

#include "base/check.h"

namespace orrery::schedule {
namespace {

// Rows of one microbatch behind the exchange of heads, and the columns that are left of q and of k.
struct CoreSizes {
  std::int64_t rows, query, kv;
};
CoreSizes core_sizes(const Stage& s) {
  const std::int64_t ways = s.ulysses();
  return {s.z.tokens * ways, s.z.query / ways, s.z.kv / ways};
}

std::uint8_t ring_group(const Stage& s) {
  const std::uint8_t group = find_group(s.schedule, "context");
  CHECK(group != kNoGroup, "no ring");
  return group;
}

// --- exchange of heads for positions
// ----------------------------------------------------------------------------------

void exchange(Stage& s, BlockBuilder& b, Tensor from, Tensor to) {
  b.add(OpKind::all_to_all, {in(Role::x, from), out(Role::y, to)})
      .on(Stream::context)
      .group(find_group(s.schedule, "ulysses"))
      .behind_compute();
}

// Of a tensor with all of this rank's heads: heads j of each member j, one member behind the other.
void split_heads(Stage& s, BlockBuilder& b, Tensor from, Tensor to) {
  b.add(OpKind::split_columns, {in(Role::x, from), out(Role::y, to)}, {.n = s.ulysses()});
}
void join_heads(Stage& s, BlockBuilder& b, Tensor from, Tensor to) {
  b.add(OpKind::join_columns, {in(Role::x, from), out(Role::y, to)}, {.n = s.ulysses()});
}

QueryKeyValue split_core(const Stage& s, Tensor qkv) {
  const CoreSizes c = core_sizes(s);
  return {columns_of(qkv, 0, c.query), columns_of(qkv, c.query, c.kv), columns_of(qkv, c.query + c.kv, c.kv)};
}

// q, k, v of the positions here to those of the heads here.
void exchange_inputs(Stage& s, BlockBuilder& b, const QueryKeyValue& from, Tensor to) {
  const Tensor packed = workspace(s, b, "context.packed", s.activation_type, to.rows, to.columns);
  const QueryKeyValue parts = split_core(s, packed);
  split_heads(s, b, from.q, parts.q);
  split_heads(s, b, from.k, parts.k);
  split_heads(s, b, from.v, parts.v);
  exchange(s, b, packed, to);
}

void exchange_output_back(Stage& s, BlockBuilder& b, Tensor from, Tensor to) {
  const Tensor packed = workspace(s, b, "context.returned", s.activation_type, from.rows, from.columns);
  exchange(s, b, from, packed);
  join_heads(s, b, packed, to);
}

// --- attention of a member of the ring
// --------------------------------------------------------------------------------

KernelShape core_shape(const Stage& s) {
  KernelShape shape = attention_shape(s);
  const auto ways = static_cast<std::int32_t>(s.ulysses());
  shape.sequence *= ways;
  shape.heads /= ways;
  shape.kv_heads /= ways;
  return shape;
}

void attend(BlockBuilder& b, const QueryKeyValue& a, Tensor o, Tensor lse, const KernelShape& shape,
            int peer = 0) {
  b.add(OpKind::attention_forward,
        {in(Role::q, a.q), in(Role::k, a.k), in(Role::v, a.v), out(Role::o, o), out(Role::lse, lse)}, shape)
      .group(kTensor)
      .site(kAttentionDropout)
      .peer(peer);
}

// The keys and values of this rank side by side, as they travel.
Tensor pack_keys(Stage& s, BlockBuilder& b, const QueryKeyValue& a) {
  const CoreSizes c = core_sizes(s);
  const Tensor packed = workspace(s, b, "context.own_keys", s.activation_type, c.rows, 2 * c.kv);
  b.add(OpKind::cast, {in(Role::x, a.k), out(Role::y, columns_of(packed, 0, c.kv))});
  b.add(OpKind::cast, {in(Role::x, a.v), out(Role::y, columns_of(packed, c.kv, c.kv))});
  return packed;
}

QueryKeyValue with_keys(const Stage& s, const QueryKeyValue& a, Tensor keys) {
  const std::int64_t kv = core_sizes(s).kv;
  return {a.q, columns_of(keys, 0, kv), columns_of(keys, kv, kv)};
}

// `held` to the next member, what the one before holds into `next`, at once.
void pass_on(Stage& s, BlockBuilder& b, Tensor held, Tensor next) {
  b.add(OpKind::send, {in(Role::x, held)})
      .on(Stream::context)
      .group(ring_group(s))
      .peer(1)
      .grouped()
      .record(next.formal);
  b.add(OpKind::recv, {out(Role::y, next)}).on(Stream::context).group(ring_group(s)).peer(-1).record(next.formal);
}

Tensor travelling(Stage& s, BlockBuilder& b, const char* name, std::int64_t step) {
  const CoreSizes c = core_sizes(s);
  return workspace(s, b, std::string(name) + (step % 2 == 0 ? ".even" : ".odd"), s.activation_type, c.rows, 2 * c.kv);
}

void ring_forward(Stage& s, BlockBuilder& b, const QueryKeyValue& a, Tensor o, Tensor lse) {
  const std::int64_t steps = s.ring();
  const KernelShape shape = core_shape(s);
  // Parts are added up in 32 bits.
  const bool wide = s.activation_type == DataType::fp32;
  const Tensor sum = wide ? o : workspace(s, b, "context.sum", DataType::fp32, o.rows, o.columns);
  const Tensor part = workspace(s, b, "context.part", s.activation_type, o.rows, o.columns);
  const Tensor part_lse = workspace(s, b, "context.part_lse", DataType::fp32, lse.rows, lse.columns);
  Tensor held = pack_keys(s, b, a);
  for (std::int64_t step = 0; step < steps; ++step) {
    Tensor next;
    if (step + 1 < steps) {
      next = travelling(s, b, "context.keys", step);
      pass_on(s, b, held, next);
    }
    const bool first = step == 0;
    attend(b, with_keys(s, a, held), first && wide ? o : part, first ? lse : part_lse, shape,
           -static_cast<int>(step));
    if (!first)
      b.add(OpKind::attention_merge,
            {in(Role::x, part), in(Role::stats, part_lse), accumulate(Role::o, sum), accumulate(Role::lse, lse)},
            shape);
    else if (!wide)
      b.add(OpKind::cast, {in(Role::x, part), out(Role::y, sum)});
    held = next;
  }
  if (!wide) b.add(OpKind::cast, {in(Role::x, sum), out(Role::y, o)});
}

Tensor gather_keys(Stage& s, BlockBuilder& b, Tensor own) {
  const Tensor all = workspace(s, b, "context.all_keys", s.activation_type, own.rows * s.ring(), own.columns);
  b.add(OpKind::all_gather, {in(Role::x, own), out(Role::y, all)})
      .on(Stream::context)
      .group(ring_group(s))
      .behind_compute();
  return all;
}

KernelShape gathered_shape(const Stage& s) {
  KernelShape shape = core_shape(s);
  shape.keys = static_cast<std::int32_t>(shape.sequence * s.ring());
  return shape;
}

bool gathers(const Stage& s) { return s.scenario.parallel.context_method == scenarios::ContextMethod::all_gather; }

void core_forward(Stage& s, BlockBuilder& b, const QueryKeyValue& a, Tensor o, Tensor lse) {
  if (s.ring() == 1) return attend(b, a, o, lse, core_shape(s));
  if (gathers(s))
    return attend(b, with_keys(s, a, gather_keys(s, b, pack_keys(s, b, a))), o, lse, gathered_shape(s));
  ring_forward(s, b, a, o, lse);
}

// --- backward
// -----------------------------------------------------------------------------------------------------------

struct Saved {
  Tensor dout, o, lse;
};

void differentiate(BlockBuilder& b, const QueryKeyValue& a, const Saved& saved, Operand dq, Tensor dk,
                   Tensor dv, const KernelShape& shape, int peer = 0) {
  b.add(OpKind::attention_backward,
        {in(Role::dout, saved.dout), in(Role::q, a.q), in(Role::k, a.k), in(Role::v, a.v), in(Role::o, saved.o),
         in(Role::lse, saved.lse), dq, out(Role::dk, dk), out(Role::dv, dv)},
        shape)
      .group(kTensor)
      .site(kAttentionDropout)
      .peer(peer);
}

void unpack_keys(Stage& s, BlockBuilder& b, Tensor packed, const QueryKeyValue& d) {
  const std::int64_t kv = core_sizes(s).kv;
  b.add(OpKind::cast, {in(Role::x, columns_of(packed, 0, kv)), out(Role::y, d.k)});
  b.add(OpKind::cast, {in(Role::x, columns_of(packed, kv, kv)), out(Role::y, d.v)});
}

// Step t works on the keys that began t members before. Their gradient follows them one step behind.
void ring_backward(Stage& s, BlockBuilder& b, const QueryKeyValue& a, const Saved& saved, const QueryKeyValue& d) {
  const std::int64_t steps = s.ring(), kv = core_sizes(s).kv;
  const KernelShape shape = core_shape(s);
  const CoreSizes c = core_sizes(s);
  const Tensor part = workspace(s, b, "context.dkeys_part", s.activation_type, c.rows, 2 * kv);
  Tensor held = pack_keys(s, b, a), gradient = travelling(s, b, "context.dkeys", 1);
  for (std::int64_t step = 0; step < steps; ++step) {
    Tensor next;
    if (step + 1 < steps) {
      next = travelling(s, b, "context.keys", step);
      pass_on(s, b, held, next);
    }
    const bool first = step == 0;
    const Tensor made = first ? gradient : part;
    differentiate(b, with_keys(s, a, held), saved, first ? out(Role::dq, d.q) : accumulate(Role::dq, d.q),
                  columns_of(made, 0, kv), columns_of(made, kv, kv), shape, -static_cast<int>(step));
    if (!first) b.add(OpKind::add, {in(Role::x, part), accumulate(Role::y, gradient)});
    const Tensor arriving = travelling(s, b, "context.dkeys", step);
    pass_on(s, b, gradient, arriving);
    gradient = arriving;
    held = next;
  }
  unpack_keys(s, b, gradient, d);
}

void gathered_backward(Stage& s, BlockBuilder& b, const QueryKeyValue& a, const Saved& saved, const QueryKeyValue& d) {
  const Tensor own = pack_keys(s, b, a), all = gather_keys(s, b, own);
  const std::int64_t kv = core_sizes(s).kv;
  const Tensor dall = workspace(s, b, "context.all_dkeys", s.activation_type, all.rows, all.columns);
  const Tensor down = workspace(s, b, "context.dkeys_own", s.activation_type, own.rows, own.columns);
  differentiate(b, with_keys(s, a, all), saved, out(Role::dq, d.q), columns_of(dall, 0, kv), columns_of(dall, kv, kv),
                gathered_shape(s));
  b.add(OpKind::reduce_scatter, {in(Role::x, dall), out(Role::y, down)}).on(Stream::context).group(ring_group(s));
  unpack_keys(s, b, down, d);
}

void core_backward(Stage& s, BlockBuilder& b, const QueryKeyValue& a, const Saved& saved, const QueryKeyValue& d) {
  if (s.ring() == 1) return differentiate(b, a, saved, out(Role::dq, d.q), d.k, d.v, core_shape(s));
  if (gathers(s)) return gathered_backward(s, b, a, saved, d);
  ring_backward(s, b, a, saved, d);
}

}  // namespace

void write_context_attention(Stage& s, BlockBuilder& b, const LayerTensors& t, Tensor out) {
  const QueryKeyValue made = attention_inputs(s, t);
  if (s.ulysses() == 1) return core_forward(s, b, made, out, t.lse);
  exchange_inputs(s, b, made, t.exchanged);
  core_forward(s, b, split_core(s, t.exchanged), t.exchanged_out, t.lse);
  exchange_output_back(s, b, t.exchanged_out, out);
}

void write_context_core_again(Stage& s, BlockBuilder& b, const LayerTensors& t) {
  const Tensor kept = s.ulysses() == 1 ? t.out : t.exchanged_out;
  const Tensor again = workspace(s, b, "attention.out_again", s.activation_type, kept.rows, kept.columns);
  core_forward(s, b, s.ulysses() == 1 ? attention_inputs(s, t) : split_core(s, t.exchanged), again, t.lse);
}

void write_context_backward(Stage& s, BlockBuilder& b, const LayerTensors& t, Tensor dout, const QueryKeyValue& d) {
  if (s.ulysses() == 1) return core_backward(s, b, attention_inputs(s, t), {dout, t.out, t.lse}, d);
  const CoreSizes c = core_sizes(s);
  const Tensor packed = workspace(s, b, "context.dout_packed", s.activation_type, c.rows, c.query);
  const Tensor dexchanged_out = workspace(s, b, "context.dout", s.activation_type, c.rows, c.query);
  split_heads(s, b, dout, packed);
  exchange(s, b, packed, dexchanged_out);
  const Tensor dqkv = workspace(s, b, "context.dqkv", s.activation_type, c.rows, c.query + 2 * c.kv);
  core_backward(s, b, split_core(s, t.exchanged), {dexchanged_out, t.exchanged_out, t.lse}, split_core(s, dqkv));
  const Tensor returned = workspace(s, b, "context.dqkv_returned", s.activation_type, dqkv.rows, dqkv.columns);
  exchange(s, b, dqkv, returned);
  const QueryKeyValue parts = split_core(s, returned);
  join_heads(s, b, parts.q, d.q);
  join_heads(s, b, parts.k, d.k);
  join_heads(s, b, parts.v, d.v);
}

}  // namespace orrery::schedule
