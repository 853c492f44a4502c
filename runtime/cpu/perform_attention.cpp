// Attention, rotary positions and softmax: fused kernels, and the separate ones around the matrix of scores.
#include "kernels/cpu/attention/fused_attention.h"
#include "kernels/cpu/attention/latent.h"
#include "kernels/cpu/attention/merge.h"
#include "kernels/cpu/attention/rotary.h"
#include "kernels/cpu/attention/separate_attention.h"
#include "kernels/cpu/attention/softmax.h"
#include "runtime/cpu/perform.h"

namespace orrery::runtime {
namespace {

// Positions of queries and keys as kernels take them.
struct Runs {
  std::vector<kernels::PositionRun> queries, keys;
  std::int64_t whole = 0;
};

Runs position_runs(const PerformContext& c) {
  const schedule::AttentionPositions p =
      schedule::attention_positions(c.placement.context(), c.operands.shape(), c.operands.call().op().op->peer);
  Runs runs;
  runs.whole = p.whole;
  for (const schedule::PositionRun& run : p.queries) runs.queries.push_back({run.row, run.count, run.position});
  for (const schedule::PositionRun& run : p.keys) runs.keys.push_back({run.row, run.count, run.position});
  return runs;
}

// The shape counts this rank's heads; they are consecutive in the model, in tensor rank order, and within a tensor rank in
// the order of those that exchange heads.
kernels::AttentionShape attention_shape(const PerformContext& c) {
  const schedule::KernelShape& s = c.operands.shape();
  const schedule::ContextPlace place = c.placement.context();
  return {.batch = s.batch,
          .sequence = s.sequence,
          .heads = s.heads,
          .kv_heads = s.kv_heads,
          .head_dim = s.head_dim,
          .causal = s.causal,
          .alibi = s.alibi,
          .first_head = (c.placement.shard_index() * place.ulysses + place.ulysses_index) * s.heads,
          .total_heads = c.placement.shard_count() * place.ulysses * s.heads};
}

kernels::AttentionDropout attention_dropout(const PerformContext& c) {
  const double p = c.operands.shape().dropout;
  return {.probability = p, .keys = p > 0.0 ? c.placement.dropout_keys() : nullptr};
}

void fused(const PerformContext& c, bool forward) {
  const Operands& o = c.operands;
  with_float(o.type(Role::q), [&](auto t) {
    using T = typename decltype(t)::Type;
    using W = kernels::Wide<T>;
    const kernels::AttentionInput<T> in{o.in<T>(Role::q), o.in<T>(Role::k), o.in<T>(Role::v)};
    const Runs runs = position_runs(c);
    kernels::AttentionShape a = attention_shape(c);
    a.keys = o.shape().keys;
    a.positions = runs.whole;
    a.query_runs = runs.queries;
    a.key_runs = runs.keys;
    const kernels::AttentionDropout dropout = attention_dropout(c);
    if (forward) return kernels::attention_forward<T>(a, in, dropout, o.out<T>(Role::o), o.out<W>(Role::lse));
    kernels::attention_backward<T>(a, in, {o.in<T>(Role::dout), o.in<T>(Role::o), o.in<W>(Role::lse)}, dropout,
                                   {o.out<T>(Role::dq), o.out<T>(Role::dk), o.out<T>(Role::dv)});
  });
}

void rotate(const PerformContext& c, Role q, Role k, bool forward) {
  const Operands& o = c.operands;
  kernels::RotaryShape shape{.batch = o.shape().batch, .head_dim = o.shape().head_dim};
  for (const Role role : {q, k}) {
    if (!o.has(role)) continue;
    with_float(o.type(role), [&](auto t) {
      using T = typename decltype(t)::Type;
      for (const Placement::RowRun& run : c.placement.row_runs(o.view(o.need(role)).rows)) {
        shape.first_position = run.of_microbatch / shape.batch;
        const Matrix<T> rows = rows_of(o.place<T>(role), run.row, run.count);
        forward ? kernels::rotary_forward<T>(shape, rows) : kernels::rotary_backward<T>(shape, rows);
      }
    });
  }
}

void merge(const PerformContext& c) {
  const Operands& o = c.operands;
  with_float(o.type(Role::x), [&](auto t) {
    using T = typename decltype(t)::Type;
    using W = kernels::Wide<T>;
    kernels::attention_merge<T>(attention_shape(c), o.in<T>(Role::x), o.in<W>(Role::stats), o.place<W>(Role::o), o.place<W>(Role::lse));
  });
}

void latent(const Operands& o, OpKind kind) {
  const schedule::KernelShape& s = o.shape();
  const kernels::LatentShape shape{s.batch, s.heads, s.head_dim, s.rope_dim, s.value_dim};
  with_float(o.type_at(0), [&](auto t) {
    using T = typename decltype(t)::Type;
    if (kind == OpKind::resize_heads)
      kernels::resize_heads<T>(s.heads, o.in<T>(Role::x), o.place<T>(Role::y));
    else if (kind == OpKind::latent_forward)
      kernels::latent_forward<T>(shape, o.place<T>(Role::q), o.in<T>(Role::x), o.in<T>(Role::shared), o.place<T>(Role::k),
                                 o.place<T>(Role::v));
    else
      kernels::latent_backward<T>(shape, o.place<T>(Role::dq), o.in<T>(Role::dk), o.in<T>(Role::dv), o.place<T>(Role::dx),
                                  o.place<T>(Role::shared));
  });
}

// Score-shaped views may be flat; kernels want a row for each query.
template <typename T>
Matrix<T> score_rows(Matrix<T> m, std::int64_t sequence) {
  return {m.data, m.count() / sequence, sequence, sequence};
}

void softmax(const PerformContext& c, bool forward) {
  const Operands& o = c.operands;
  with_float(o.type(Role::y), [&](auto t) {
    using T = typename decltype(t)::Type;
    const std::int64_t s = o.shape().sequence;
    const auto rows = [&](Role role) { return score_rows<T>(o.place<T>(role), s); };
    const auto output = [&](Role role) { return Out<T>{rows(role), o.out<T>(role).adds}; };
    if (forward) return kernels::softmax_forward<T>(attention_shape(c), rows(Role::x), output(Role::y));
    kernels::softmax_backward<T>(attention_shape(c), rows(Role::y), rows(Role::dy), output(Role::dx));
  });
}

// The products around the matrix of scores: its role, the two others, and which is written.
template <typename T>
bool product(const PerformContext& c, OpKind kind) {
  const Operands& o = c.operands;
  const kernels::AttentionShape a = attention_shape(c);
  const auto scores = [&](Role role) { return score_rows<T>(o.place<T>(role), o.shape().sequence); };
  const auto score_output = [&](Role role) { return Out<T>{scores(role), o.out<T>(role).adds}; };
  if (kind == OpKind::attention_scores)
    kernels::attention_scores<T>(a, o.in<T>(Role::q), o.in<T>(Role::k), score_output(Role::y));
  else if (kind == OpKind::attention_context)
    kernels::attention_context<T>(a, scores(Role::x), o.in<T>(Role::v), o.out<T>(Role::o));
  else if (kind == OpKind::attention_dprobabilities)
    kernels::attention_dprobabilities<T>(a, o.in<T>(Role::dout), o.in<T>(Role::v), score_output(Role::dx));
  else if (kind == OpKind::attention_dvalue)
    kernels::attention_dvalue<T>(a, scores(Role::x), o.in<T>(Role::dout), o.out<T>(Role::dv));
  else if (kind == OpKind::attention_dquery)
    kernels::attention_dquery<T>(a, scores(Role::x), o.in<T>(Role::k), o.out<T>(Role::dq));
  else if (kind == OpKind::attention_dkey)
    kernels::attention_dkey<T>(a, scores(Role::x), o.in<T>(Role::q), o.out<T>(Role::dk));
  else return false;
  return true;
}

}  // namespace

bool perform_attention(const PerformContext& c) {
  const OpKind kind = c.operands.call().op().op->kind;
  if (kind == OpKind::latent_forward || kind == OpKind::latent_backward || kind == OpKind::resize_heads)
    return latent(c.operands, kind), true;
  if (kind < OpKind::rotary_forward || kind > OpKind::attention_dkey) return false;
  if (kind == OpKind::rotary_forward) return rotate(c, Role::q, Role::k, true), true;
  if (kind == OpKind::rotary_backward) return rotate(c, Role::dq, Role::dk, false), true;
  if (kind == OpKind::attention_forward || kind == OpKind::attention_backward)
    return fused(c, kind == OpKind::attention_forward), true;
  if (kind == OpKind::attention_merge) return merge(c), true;
  if (kind == OpKind::softmax_forward || kind == OpKind::softmax_backward)
    return softmax(c, kind == OpKind::softmax_forward), true;
  bool performed = false;
  with_float(c.operands.type_at(0), [&](auto t) { performed = product<typename decltype(t)::Type>(c, kind); });
  return performed;
}

}  // namespace orrery::runtime
