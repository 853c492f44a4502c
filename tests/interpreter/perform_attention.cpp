#include "tests/interpreter/perform_attention.h"

#include <algorithm>

#include "tests/interpreter/kernels_attention.h"
#include "tests/interpreter/kernels_elementwise.h"
#include "tests/interpreter/kernels_latent.h"

namespace orrery::interpreter {
namespace {

using schedule::OpKind;
using schedule::Role;

// shape.heads counts this rank's heads; they are consecutive in the model, in tensor rank order.
AttentionShape attention_shape(const OpContext& c) {
  const schedule::KernelShape& s = c.shape();
  AttentionShape a;
  a.batch = s.batch;
  a.sequence = s.sequence;
  a.heads = s.heads;
  a.kv_heads = s.kv_heads;
  a.head_dim = s.head_dim;
  a.causal = s.causal;
  a.alibi = s.alibi;
  // The heads of a tensor rank, and of these the ones that it keeps in an exchange.
  const schedule::ContextPlace place = c.context();
  a.first_head = (c.shard_index() * place.ulysses + place.ulysses_index) * s.heads;
  a.total_heads = c.shard_count() * place.ulysses * s.heads;
  const schedule::AttentionPositions p = schedule::attention_positions(place, s, c.op().peer);
  a.whole = p.whole;
  const auto spread = [](const std::vector<schedule::PositionRun>& runs, std::vector<std::int64_t>& positions) {
    for (const schedule::PositionRun& run : runs) {
      positions.resize(std::max(positions.size(), static_cast<std::size_t>(run.row + run.count)));
      for (std::int64_t i = 0; i < run.count; ++i) positions[static_cast<std::size_t>(run.row + i)] = run.position + i;
    }
  };
  spread(p.queries, a.query_positions);
  spread(p.keys, a.key_positions);
  return a;
}

Qkv qkv(const OpContext& c) { return {c.in(Role::q), c.in(Role::k), c.in(Role::v)}; }

void rotate(const OpContext& c, Role first, Role second, double direction) {
  const schedule::KernelShape& s = c.shape();
  for (const Role role : {first, second})
    if (c.has(role))
      rotary(c.in_place(role), s.batch, s.head_dim, direction, c.rows_of_microbatch(c.in_place(role).rows));
}

void drop(const OpContext& c, bool forward) {
  if (!forward) return dropout_backward(c.dropout(0, 0), c.in(Role::dy), c.in(Role::mask), c.out(Role::dx));
  const ConstView x = c.in(Role::x);
  const bool scores = c.shape().heads > 0;
  ScoreLayout layout;
  if (scores) {
    const AttentionShape a = attention_shape(c);
    layout = {a.heads, a.first_head, a.square()};
  }
  dropout_forward(c.dropout(scores ? 0 : x.rows, x.columns), layout, x, c.out(Role::y), c.maybe_out(Role::mask));
}

bool perform_separate(const OpContext& c) {
  const OpKind kind = c.op().kind;
  const AttentionShape a = attention_shape(c);
  if (kind == OpKind::attention_scores) attention_scores(a, c.in(Role::q), c.in(Role::k), c.out(Role::y));
  else if (kind == OpKind::softmax_forward) softmax_forward(a, c.in(Role::x), c.out(Role::y));
  else if (kind == OpKind::softmax_backward) softmax_backward(a, c.in(Role::y), c.in(Role::dy), c.out(Role::dx));
  else if (kind == OpKind::attention_context) attention_context(a, c.in(Role::x), c.in(Role::v), c.out(Role::o));
  else if (kind == OpKind::attention_dprobabilities)
    attention_dprobabilities(a, c.in(Role::dout), c.in(Role::v), c.out(Role::dx));
  else if (kind == OpKind::attention_dvalue) attention_dvalue(a, c.in(Role::x), c.in(Role::dout), c.out(Role::dv));
  else if (kind == OpKind::attention_dquery) attention_dquery(a, c.in(Role::x), c.in(Role::k), c.out(Role::dq));
  else if (kind == OpKind::attention_dkey) attention_dkey(a, c.in(Role::x), c.in(Role::q), c.out(Role::dk));
  else return false;
  return true;
}

}  // namespace

bool perform_attention(const OpContext& c) {
  const OpKind kind = c.op().kind;
  if (kind == OpKind::attention_forward)
    attention_forward(attention_shape(c), qkv(c), c.dropout(0, 0), c.out(Role::o), c.maybe_out(Role::lse));
  else if (kind == OpKind::attention_backward)
    attention_backward(attention_shape(c), qkv(c), {c.in(Role::dout), c.in(Role::o), c.in(Role::lse)},
                       c.dropout(0, 0), {c.out(Role::dq), c.out(Role::dk), c.out(Role::dv)});
  else if (kind == OpKind::attention_merge)
    attention_merge(attention_shape(c), c.in(Role::x), c.in(Role::stats), c.in_place(Role::o), c.in_place(Role::lse));
  else if (kind == OpKind::latent_forward)
    latent_forward(c.shape(), c.in_place(Role::q), c.in(Role::x), c.in(Role::shared), {c.out(Role::k), c.out(Role::v)});
  else if (kind == OpKind::latent_backward)
    latent_backward(c.shape(), c.in_place(Role::dq), c.in(Role::dk), c.in(Role::dv), c.out(Role::dx), c.out(Role::shared));
  else if (kind == OpKind::resize_heads) resize_heads(c.shape(), c.in(Role::x), c.out(Role::y));
  else if (kind == OpKind::rotary_forward) rotate(c, Role::q, Role::k, 1.0);
  else if (kind == OpKind::rotary_backward) rotate(c, Role::dq, Role::dk, -1.0);
  else if (kind == OpKind::dropout_forward) drop(c, true);
  else if (kind == OpKind::dropout_backward) drop(c, false);
  else return perform_separate(c);
  return true;
}

}  // namespace orrery::interpreter
