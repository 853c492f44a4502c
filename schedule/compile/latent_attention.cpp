#include "schedule/compile/latent_attention.h"

#include "schedule/compile/blocks.h"
#include "schedule/compile/tensor_parallel.h"

namespace orrery::schedule {
namespace {

KernelShape latent_shape(const Stage& s) {
  KernelShape shape = attention_shape(s);
  shape.dropout = 0.0;
  return shape;
}

Tensor low_rank(Stage& s, BlockBuilder& b, const char* name, Life life, std::int64_t columns) {
  return layer_tensor(s, b, name, s.activation_type, life, s.z.local_tokens, columns);
}

Tensor weight(Stage& s, BlockBuilder& b, const char* name) { return weight_of(s, b, s.layer_kind, name); }
Tensor gradient(Stage& s, BlockBuilder& b, const char* name) { return gradient_of(s, b, s.layer_kind, name); }

void product(BlockBuilder& b, Tensor x, Tensor w, Tensor y) {
  b.add(OpKind::gemm, {in(Role::x, x), in(Role::w, w), out(Role::y, y)}, forward_gemm(x, w));
}

void norm(Stage& s, BlockBuilder& b, const char* name, Tensor x, Tensor y) {
  b.add(OpKind::norm_forward, {in(Role::x, x), in(Role::w, weight(s, b, name)), out(Role::y, y)}, norm_shape(s));
}

void norm_gradient(Stage& s, BlockBuilder& b, const char* name, Tensor dy, Tensor x, Tensor dx) {
  b.add(OpKind::norm_backward,
        {in(Role::dy, dy), in(Role::x, x), in(Role::w, weight(s, b, name)), out(Role::dx, dx),
         accumulate(Role::dw, gradient(s, b, name))},
        norm_shape(s));
}

// Of a product on the rank's own rows; dx is added to, or written.
void own_rows_backward(Stage& s, BlockBuilder& b, const char* name, Tensor dy, Tensor x, Tensor dx, bool adds) {
  b.add(OpKind::gemm,
        {in(Role::dy, dy), in(Role::w, weight(s, b, name)), adds ? accumulate(Role::dx, dx) : out(Role::dx, dx)},
        input_gradient_gemm(dy, weight(s, b, name)));
  if (!s.splits_backward) weight_gradient(b, dy, x, gradient(s, b, name));
}

std::int64_t kv_width(const Stage& s) {
  return s.z.heads * (s.model().latent.nope_dim + s.model().latent.value_dim);
}

}  // namespace

LatentTensors latent_tensors(Stage& s, BlockBuilder& b, Life life, Life linear_inputs_life) {
  const models::LatentAttention& l = s.model().latent;
  LatentTensors t;
  if (l.query_rank > 0) {
    t.query_down = low_rank(s, b, "latent.query_down", life, l.query_rank);
    t.query_latent = low_rank(s, b, "latent.query", linear_inputs_life, l.query_rank);
  }
  t.kv_down = low_rank(s, b, "latent.kv_down", life, l.kv_rank + l.rope_dim);
  t.kv_latent = low_rank(s, b, "latent.kv", linear_inputs_life, l.kv_rank);
  return t;
}

void write_latent_qkv(Stage& s, BlockBuilder& b, const LatentTensors& t, Tensor x, Tensor qkv) {
  const models::LatentAttention& l = s.model().latent;
  const QueryKeyValue out_heads = split(s, qkv);
  if (t.query_down.exists()) {
    product(b, x, weight(s, b, "attention.query_down"), t.query_down);
    norm(s, b, "attention.query_down_norm", t.query_down, t.query_latent);
    product(b, gather_rows(s, b, t.query_latent, "latent.query_gathered"), weight(s, b, "attention.query_up"), out_heads.q);
  } else {
    product(b, gather_rows(s, b, x, "gathered_norm1"), weight(s, b, "attention.query"), out_heads.q);
  }
  product(b, x, weight(s, b, "attention.kv_down"), t.kv_down);
  norm(s, b, "attention.kv_norm", columns_of(t.kv_down, 0, l.kv_rank), t.kv_latent);
  const Tensor kv = workspace(s, b, "latent.kv_heads", s.activation_type, s.z.tokens, kv_width(s));
  product(b, gather_rows(s, b, t.kv_latent, "latent.kv_gathered"), weight(s, b, "attention.kv_up"), kv);
  Tensor shared = workspace(s, b, "latent.shared_key", s.activation_type, s.z.local_tokens, l.rope_dim);
  b.add(OpKind::cast, {in(Role::x, columns_of(t.kv_down, l.kv_rank, l.rope_dim)), out(Role::y, shared)});
  shared = gather_rows(s, b, shared, "latent.shared_key_gathered");
  b.add(OpKind::latent_forward,
        {accumulate(Role::q, out_heads.q), in(Role::x, kv), in(Role::shared, shared), out(Role::k, out_heads.k),
         out(Role::v, out_heads.v)},
        latent_shape(s));
}

QueryKeyValue latent_gradients(Stage& s, BlockBuilder& b) {
  const Tensor q = output_gradient(s, b, "latent.dquery_heads", s.z.tokens, s.z.query, Life::born);
  const Tensor kv = workspace(s, b, "latent.dkey_value", s.activation_type, s.z.tokens, 2 * s.z.kv);
  return {q, columns_of(kv, 0, s.z.kv), columns_of(kv, s.z.kv, s.z.kv)};
}

Tensor latent_qkv_backward(Stage& s, BlockBuilder& b, const LatentTensors& t, const QueryKeyValue& d, Tensor x) {
  const models::LatentAttention& l = s.model().latent;
  const auto local = [&](const char* name, std::int64_t columns) {
    return output_gradient(s, b, name, s.z.local_tokens, columns, Life::born);
  };
  const Tensor dkv = output_gradient(s, b, "latent.dkv_heads", s.z.tokens, kv_width(s), Life::born);
  const Tensor dshared = workspace(s, b, "latent.dshared_key", s.activation_type, s.z.tokens, l.rope_dim);
  b.add(OpKind::latent_backward,
        {accumulate(Role::dq, d.q), in(Role::dk, d.k), in(Role::dv, d.v), out(Role::dx, dkv), out(Role::shared, dshared)},
        latent_shape(s));
  const Tensor dlatent = column_parallel_backward(s, b, "latent.kv_up", dkv, t.kv_latent, weight(s, b, "attention.kv_up"),
                                                  gradient(s, b, "attention.kv_up"));
  const Tensor ddown = local("latent.dkv_down", l.kv_rank + l.rope_dim);
  norm_gradient(s, b, "attention.kv_norm", dlatent, columns_of(t.kv_down, 0, l.kv_rank), columns_of(ddown, 0, l.kv_rank));
  b.add(OpKind::cast, {in(Role::x, reduce_rows(s, b, dshared, "latent.dshared_key_reduced")),
                       out(Role::y, columns_of(ddown, l.kv_rank, l.rope_dim))});
  Tensor dx;
  if (t.query_down.exists()) {
    dx = workspace(s, b, "latent.dx", s.activation_type, s.z.local_tokens, s.z.hidden);
    own_rows_backward(s, b, "attention.kv_down", ddown, x, dx, false);
    const Tensor dquery = column_parallel_backward(s, b, "latent.query_up", d.q, t.query_latent,
                                                   weight(s, b, "attention.query_up"), gradient(s, b, "attention.query_up"));
    const Tensor dquery_down = local("latent.dquery_down", l.query_rank);
    norm_gradient(s, b, "attention.query_down_norm", dquery, t.query_down, dquery_down);
    own_rows_backward(s, b, "attention.query_down", dquery_down, x, dx, true);
  } else {
    dx = column_parallel_backward(s, b, "latent.query", d.q, x, weight(s, b, "attention.query"),
                                  gradient(s, b, "attention.query"));
    own_rows_backward(s, b, "attention.kv_down", ddown, x, dx, true);
  }
  return dx;
}

void latent_weight_gradients(Stage& s, BlockBuilder& b, Tensor x) {
  const models::LatentAttention& l = s.model().latent;
  const auto kept = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    return output_gradient(s, b, name, rows, columns, Life::dies);
  };
  const auto of_heads = [&](const char* name, Tensor dy, Tensor input) {
    weight_gradient(b, dy, gather_rows(s, b, input, std::string("latent.regathered.") + name), gradient(s, b, name));
  };
  of_heads("attention.kv_up", kept("latent.dkv_heads", s.z.tokens, kv_width(s)),
           low_rank(s, b, "latent.kv", Life::dies, l.kv_rank));
  weight_gradient(b, kept("latent.dkv_down", s.z.local_tokens, l.kv_rank + l.rope_dim), x,
                  gradient(s, b, "attention.kv_down"));
  const Tensor dq = kept("latent.dquery_heads", s.z.tokens, s.z.query);
  if (l.query_rank == 0) return of_heads("attention.query", dq, x);
  of_heads("attention.query_up", dq, low_rank(s, b, "latent.query", Life::dies, l.query_rank));
  weight_gradient(b, kept("latent.dquery_down", s.z.local_tokens, l.query_rank), x, gradient(s, b, "attention.query_down"));
}

Tensor resized_heads(Stage& s, BlockBuilder& b, const std::string& name, Tensor x, bool pads) {
  const std::int64_t width = pads ? s.z.head_dim : s.model().latent.value_dim;
  const Tensor y = workspace(s, b, name, s.activation_type, x.rows, s.z.heads * width);
  b.add(OpKind::resize_heads, {in(Role::x, x), out(Role::y, y)}, latent_shape(s));
  return y;
}

}  // namespace orrery::schedule
