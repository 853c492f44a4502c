// One layer's backward: layer_forward.cpp read upwards. The residual gradient `dh` is one buffer from the
// loss to the embedding: on entry the gradient of the layer's output, on exit of its input (each norm's
// backward adds to it). Collectives that a weight-gradient GEMM can hide go to the tensor stream where the
// scenario overlaps them.
//
// Where the schedule splits the backward (Qi et al. 2023, section 2), the weight-gradient GEMMs are a block of their
// own, and what they read is kept until then: the inputs of the four linear layers, of what the forward saved, and
// the gradients of their outputs. Those of norms and biases stay with the input gradient.
#include "schedule/compile/blocks.h"
#include "schedule/compile/context_parallel.h"
#include "schedule/compile/gradients.h"
#include "schedule/compile/low_precision.h"
#include "schedule/compile/tensor_parallel.h"

namespace orrery::schedule {
namespace {

// The gradient of norm `name`, at whose output it is `dy`; added to `dx` or, with `fresh`, written to it.
void norm_backward(Stage& s, BlockBuilder& b, const std::string& name, Tensor dy, Tensor x, Tensor dx,
                   bool fresh) {
  b.add(OpKind::norm_backward,
        {in(Role::dy, dy), in(Role::x, x), in(Role::w, weight_of(s, b, s.layer_kind, name + ".weight")),
         fresh ? out(Role::dx, dx) : accumulate(Role::dx, dx),
         accumulate(Role::dw, gradient_of(s, b, s.layer_kind, name + ".weight")),
         accumulate(Role::dbias, gradient_of(s, b, s.layer_kind, name + ".bias"))},
        norm_shape(s));
}

Tensor whole_output(Stage& s, BlockBuilder& b, const std::string& name, std::int64_t columns, Life life) {
  return output_gradient(s, b, name, s.z.tokens, columns, life);
}

// What the residual gradient becomes in a branch. Without sequence parallelism it is a linear layer's output gradient, where
// the branch ends in one.
Tensor branch_gradient(Stage& s, BlockBuilder& b, const std::string& branch, const char* name, Tensor dh) {
  const bool linear = branch != "shared" || s.z.shared_ffn > 0;
  if (s.splits_backward && !s.sequence_parallel() && linear)
    return whole_output(s, b, branch + ".doutput", dh.columns, Life::born);
  return workspace(s, b, branch + name, s.activation_type, dh.rows, dh.columns);
}

// From the residual gradient into a branch: through dropout and bias, and the branch's own norm where it has
// one.
Tensor enter_branch(Stage& s, BlockBuilder& b, const std::string& name, const std::string& bias, Tensor dh,
                    Tensor mask, Tensor kept, const std::string& post_norm) {
  const Tensor dbias = gradient_of(s, b, s.layer_kind, bias);
  Tensor d = dh;
  if (mask.exists()) {
    d = kept.exists() ? workspace(s, b, name + ".dbranch", s.activation_type, dh.rows, dh.columns)
                      : branch_gradient(s, b, name, ".dbranch", dh);
    b.add(OpKind::bias_dropout_add_backward,
          {in(Role::dy, dh), in(Role::mask, mask), out(Role::dx, d), accumulate(Role::dbias, dbias)},
          dropout_shape(s));
  } else if (dbias.exists()) {
    b.add(OpKind::bias_backward, {in(Role::dy, dh), accumulate(Role::dbias, dbias)});
  }
  if (!kept.exists()) return d;
  const Tensor before = branch_gradient(s, b, name, ".dnormed", dh);
  norm_backward(s, b, post_norm, d, kept, before, true);
  return before;
}

}  // namespace

Tensor output_gradient(Stage& s, BlockBuilder& b, const std::string& name, std::int64_t rows, std::int64_t columns, Life life) {
  return s.splits_backward ? layer_tensor(s, b, name, s.activation_type, life, rows, columns)
                           : workspace(s, b, name, s.activation_type, rows, columns);
}

void weight_gradient(BlockBuilder& b, Tensor dy, Tensor x, Tensor dw) {
  b.add(OpKind::gemm, {in(Role::dy, dy), in(Role::x, x), accumulate(Role::dw, dw)}, weight_gradient_gemm(dy, x));
}

Tensor column_parallel_backward(Stage& s, BlockBuilder& b, const std::string& name, Tensor dy, Tensor x,
                                Tensor w, Tensor dw) {
  const Stream stream = hidden_stream(s);
  const Tensor full_x = s.splits_backward ? Tensor{} : gather_rows(s, b, x, name + ".regathered", stream);
  const Tensor partial = workspace(s, b, name + ".dpartial", s.activation_type, s.z.tokens, x.columns);
  b.add(OpKind::gemm, {in(Role::dy, dy), in(Role::w, w), out(Role::dx, partial)}, input_gradient_gemm(dy, w));
  const Tensor dx = reduce_rows(s, b, partial, name + ".dreduced", stream);
  if (!s.splits_backward) weight_gradient(b, dy, full_x, dw);
  return dx;
}

namespace {

// The gradient of a row-parallel layer's whole output, `d` being the rank's rows of it or, without sequence
// parallelism, all: where it is the residual gradient itself, which goes on changing, a copy is kept.
Gathered whole_output_gradient(Stage& s, BlockBuilder& b, const std::string& name, Tensor d, Tensor dh) {
  if (!s.splits_backward) return gather_in_chunks(s, b, d, name + ".gathered");
  if (!s.sequence_parallel() && d.formal != dh.formal) return {d};
  const Tensor kept = whole_output(s, b, name + ".doutput", d.columns, Life::born);
  if (s.sequence_parallel() && s.row_chunks() > 1 && !s.joined) return {kept, d};
  if (s.sequence_parallel())
    gather_rows_into(s, b, d, kept);
  else
    b.add(OpKind::cast, {in(Role::x, d), out(Role::y, kept)});
  return {kept};
}

// Backward of a row-parallel GEMM with output gradient `dy` and input `x`; returns its gradient.
Tensor row_parallel_backward(Stage& s, BlockBuilder& b, const std::string& name, const std::string& weight,
                             const Gathered& gathered, Tensor x) {
  const Tensor w = weight_of(s, b, s.layer_kind, weight);
  const Tensor dx = workspace(s, b, name + ".dinput", s.activation_type, x.rows, x.columns);
  const Tensor dy = column_parallel(s, b, gathered, {.w = w, .backward = true}, dx);
  if (!s.splits_backward) weight_gradient(b, dy, x, gradient_of(s, b, s.layer_kind, weight));
  return dx;
}

const char* first_of_mlp(const Stage& s) { return models::gated(s.model().activation) ? "mlp.gate" : "mlp.up"; }

// From the gradient of the MLP's (or the shared experts') output to that of its input.
Tensor mlp_core_backward(Stage& s, BlockBuilder& b, const LayerTensors& t, Tensor branch, Tensor dh, Tensor input) {
  const bool fused = s.scenario.kernels.fused_elementwise;
  const std::string first = first_of_mlp(s);
  const std::string name = mlp_name(s);
  const Tensor dactivated = row_parallel_backward(s, b, name + ".down", "mlp.down",
                                                  whole_output_gradient(s, b, name, branch, dh), t.activated);
  const bool biased = s.model().mlp_bias;
  const Tensor bias = biased ? weight_of(s, b, s.layer_kind, first + "_bias", "mlp.up_bias") : Tensor{};
  const Tensor dbias = biased ? gradient_of(s, b, s.layer_kind, first + "_bias", "mlp.up_bias") : Tensor{};
  const Tensor dup = whole_output(s, b, name + ".dup", t.up.columns, Life::born);
  b.add(OpKind::activation_backward,
        {in(Role::dy, dactivated), in(Role::x, t.up), in(Role::bias, fused ? bias : Tensor{}),
         out(Role::dx, dup), accumulate(Role::dbias, fused ? dbias : Tensor{})},
        activation_shape(s));
  if (!fused && dbias.exists())
    b.add(OpKind::bias_backward, {in(Role::dy, dup), accumulate(Role::dbias, dbias)});
  return column_parallel_backward(s, b, name + ".up", dup, input, weight_of(s, b, s.layer_kind, first, "mlp.up"),
                                  gradient_of(s, b, s.layer_kind, first, "mlp.up"));
}

Tensor mlp_backward(Stage& s, BlockBuilder& b, const LayerTensors& t, Tensor dh, Tensor input) {
  const Tensor branch = enter_branch(s, b, mlp_name(s), "mlp.down_bias", dh, t.mask2, t.branch2, "post_norm2");
  if (s.layer_kind != UnitKind::expert_layer) return mlp_core_backward(s, b, t, branch, dh, input);
  Tensor shared;
  const Tensor dx = experts_backward(s, b, t.experts, branch, input, [&] {
    if (t.up.exists()) shared = mlp_core_backward(s, b, t, branch, dh, input);
  });
  if (shared.exists()) b.add(OpKind::add, {in(Role::x, shared), accumulate(Role::y, dx)});
  return dx;
}

void fused_core_backward(Stage& s, BlockBuilder& b, const LayerTensors& t, Tensor dout,
                         const QueryKeyValue& d) {
  if (s.scenario.training.recompute == scenarios::Recompute::selective) {
    b.set_phase(Phase::recompute);
    if (s.context_parallel())
      write_context_core_again(s, b, t);
    else
      write_fused_attention(
          s, b, t, workspace(s, b, "attention.out_again", s.activation_type, t.out.rows, t.out.columns));
    b.set_phase(Phase::backward);
  }
  if (s.context_parallel()) return write_context_backward(s, b, t, dout, d);
  const QueryKeyValue a = attention_inputs(s, t);
  b.add(OpKind::attention_backward,
        {in(Role::dout, dout), in(Role::q, a.q), in(Role::k, a.k), in(Role::v, a.v), in(Role::o, t.out),
         in(Role::lse, t.lse), out(Role::dq, d.q), out(Role::dk, d.k), out(Role::dv, d.v)},
        attention_shape(s))
      .group(kTensor)
      .site(kAttentionDropout);
}

void separate_core_backward(Stage& s, BlockBuilder& b, const LayerTensors& t, Tensor dout,
                            const QueryKeyValue& d) {
  const KernelShape shape = attention_shape(s);
  const Tensor& p = t.probabilities;
  if (s.scenario.training.recompute == scenarios::Recompute::selective) {
    b.set_phase(Phase::recompute);
    write_probabilities(s, b, t);
    b.set_phase(Phase::backward);
  }
  const QueryKeyValue a = attention_inputs(s, t);
  Tensor dp = workspace(s, b, "attention.dprobabilities", s.activation_type, p.rows, p.columns);
  b.add(OpKind::attention_dprobabilities, {in(Role::dout, dout), in(Role::v, a.v), out(Role::dx, dp)}, shape);
  b.add(OpKind::attention_dvalue, {in(Role::x, t.dropped), in(Role::dout, dout), out(Role::dv, d.v)}, shape);
  if (t.probability_mask.exists()) {
    const Tensor undropped = workspace(s, b, "attention.dundropped", s.activation_type, p.rows, p.columns);
    b.add(OpKind::dropout_backward,
          {in(Role::dy, dp), in(Role::mask, t.probability_mask), out(Role::dx, undropped)}, shape);
    dp = undropped;
  }
  Tensor dscores = workspace(s, b, "attention.dscores", s.activation_type, p.rows, p.columns);
  b.add(OpKind::softmax_backward, {in(Role::dy, dp), in(Role::y, p), out(Role::dx, dscores)}, shape);
  if (!s.scenario.kernels.fused_softmax) {
    const Tensor unmasked = workspace(s, b, "attention.dunmasked", s.activation_type, p.rows, p.columns);
    b.add(OpKind::cast, {in(Role::x, dscores), out(Role::y, unmasked)});
    dscores = unmasked;
  }
  b.add(OpKind::attention_dquery, {in(Role::x, dscores), in(Role::k, a.k), out(Role::dq, d.q)}, shape);
  b.add(OpKind::attention_dkey, {in(Role::x, dscores), in(Role::q, a.q), out(Role::dk, d.k)}, shape);
}

// Through the per-head norms of q and k: from dq, dk behind them to dq, dk of the projection.
void head_norms_backward(Stage& s, BlockBuilder& b, const LayerTensors& t, const QueryKeyValue& behind,
                         const QueryKeyValue& raw_gradient) {
  const QueryKeyValue raw = split(s, t.qkv);
  const auto one = [&](const std::string& name, Tensor dy, Tensor x, Tensor dx) {
    b.add(OpKind::head_norm_backward,
          {in(Role::dy, dy), in(Role::x, x), in(Role::w, weight_of(s, b, s.layer_kind, name)), out(Role::dx, dx),
           accumulate(Role::dw, gradient_of(s, b, s.layer_kind, name))},
          attention_shape(s));
  };
  one("attention.query_norm", behind.q, raw.q, raw_gradient.q);
  one("attention.key_norm", behind.k, raw.k, raw_gradient.k);
}

Tensor attention_backward(Stage& s, BlockBuilder& b, const LayerTensors& t, Tensor dh) {
  const Tensor branch =
      enter_branch(s, b, "attention", "attention.out_bias", dh, t.mask1, t.branch1, "post_norm1");
  const bool latent = s.model().latent.kv_rank > 0;
  const Gathered whole = whole_output_gradient(s, b, "attention", branch, dh);
  Tensor heads = t.out;
  if (latent && s.splits_backward)
    heads.columns = s.z.heads * s.model().latent.value_dim;  // what they will be in the weight gradient's block
  else if (latent)
    heads = resized_heads(s, b, "attention.trimmed_again", t.out, false);
  Tensor dout = row_parallel_backward(s, b, "attention.projection", "attention.out", whole, heads);
  if (latent) dout = resized_heads(s, b, "attention.dpadded", dout, true);
  const Tensor dqkv = latent ? Tensor{} : whole_output(s, b, "dqkv", s.z.query + 2 * s.z.kv, Life::born);
  const QueryKeyValue raw = latent ? latent_gradients(s, b) : split(s, dqkv);
  QueryKeyValue behind = raw;
  if (s.model().qk_norm) {
    const Tensor d = workspace(s, b, "dnormed_qk", s.activation_type, s.z.tokens, s.z.query + s.z.kv);
    behind.q = columns_of(d, 0, s.z.query);
    behind.k = columns_of(d, s.z.query, s.z.kv);
  }
  if (s.scenario.kernels.fused_attention)
    fused_core_backward(s, b, t, dout, behind);
  else
    separate_core_backward(s, b, t, dout, behind);
  if (latent) return latent_qkv_backward(s, b, t.latent, raw, t.norm1);
  if (s.model().position == models::PositionKind::rotary)
    b.add(OpKind::rotary_backward, {accumulate(Role::dq, behind.q), accumulate(Role::dk, behind.k)},
          attention_shape(s));
  if (s.model().qk_norm) head_norms_backward(s, b, t, behind, raw);
  if (s.model().qkv_bias)
    b.add(OpKind::bias_backward,
          {in(Role::dy, dqkv), accumulate(Role::dbias, gradient_of(s, b, s.layer_kind, "attention.query_bias",
                                                                   "attention.value_bias"))});
  return column_parallel_backward(s, b, "attention.qkv", dqkv, t.norm1,
                                  weight_of(s, b, s.layer_kind, "attention.query", "attention.value"),
                                  gradient_of(s, b, s.layer_kind, "attention.query", "attention.value"));
}

}  // namespace

namespace {

BlockBuilder backward_block(Stage& s, UnitKind kind, std::uint32_t releases) {
  BlockBuilder b(s.schedule, s.program, kind == UnitKind::layer ? "layer.backward" : "expert_layer.backward",
                 Phase::backward);
  s.layer_kind = kind;
  s.weights_life.fill(releases > 0 ? Life::dies : Life::bound);
  const bool experts = kind == UnitKind::expert_layer;
  begin_gradients(s, b, kind);
  if (experts) begin_gradients(s, b, UnitKind::experts);
  const Tensor x = hidden_of_layer(s, b, 0, Life::dies), dh = hidden_gradient(s, b, Life::bound);
  b.begin_after(flat_weights(s, b, kind).formal);
  if (experts) b.begin_after(flat_weights(s, b, UnitKind::experts).formal);
  b.begin_after(dh.formal);
  const LayerTensors t = layer_tensors(s, b, Life::dies, s.splits_backward ? Life::bound : Life::dies);
  if (s.model().parallel_block) {
    // Both branches read the same residual gradient, so both norms come last.
    const bool shared = !t.norm2.exists();
    const Tensor dmlp = mlp_backward(s, b, t, dh, shared ? t.norm1 : t.norm2);
    const Tensor dattention = attention_backward(s, b, t, dh);
    norm_backward(s, b, shared ? "norm1" : "norm2", dmlp, x, dh, false);
    norm_backward(s, b, "norm1", dattention, x, dh, false);
  } else {
    norm_backward(s, b, "norm2", mlp_backward(s, b, t, dh, t.norm2), t.middle, dh, false);
    norm_backward(s, b, "norm1", attention_backward(s, b, t, dh), x, dh, false);
  }
  lower_products(s, b);
  release_layers(s, b, releases, true);
  b.end_records(layer_done(s, b));
  return b;
}

}  // namespace

BlockId layer_backward(Stage& s, UnitKind kind, std::uint32_t releases) {
  return backward_block(s, kind, releases).finish();
}

std::vector<BlockId> layer_backward_parts(Stage& s, UnitKind kind, std::uint32_t releases) {
  s.joined = true;
  BlockBuilder b = backward_block(s, kind, releases);
  s.joined = false;
  return b.finish_parts();
}

BlockId layer_weight_gradients(Stage& s, UnitKind kind) {
  BlockBuilder b(s.schedule, s.program, std::string(prefix(kind)) + ".weight_gradients", Phase::weight_gradient);
  s.layer_kind = kind;
  s.gradients_life.fill(Life::bound);
  const LinearInputs x = linear_inputs(s, b, Life::dies);
  const std::string first = first_of_mlp(s);
  const auto kept = [&](const std::string& name, std::int64_t columns) {
    return whole_output(s, b, name, columns, Life::dies);
  };
  const std::string mlp = mlp_name(s);
  if (kind == UnitKind::expert_layer) experts_weight_gradients(s, b);
  Tensor up_input;
  if (x.activated.exists()) {
    weight_gradient(b, kept(mlp + ".doutput", s.z.hidden), x.activated, gradient_of(s, b, kind, "mlp.down"));
    up_input = gather_rows(s, b, x.norm2.exists() ? x.norm2 : x.norm1, mlp + ".up.regathered");
    const Tensor dw = gradient_of(s, b, kind, first, "mlp.up");
    weight_gradient(b, kept(mlp + ".dup", kind == UnitKind::expert_layer ? s.z.shared_up : s.z.up), up_input, dw);
  }
  const bool latent = s.model().latent.kv_rank > 0;
  const Tensor heads = latent ? resized_heads(s, b, "attention.trimmed_again", x.out, false) : x.out;
  weight_gradient(b, kept("attention.doutput", s.z.hidden), heads, gradient_of(s, b, kind, "attention.out"));
  if (latent) {
    latent_weight_gradients(s, b, x.norm1);
  } else {
    const Tensor dqkv = kept("dqkv", s.z.query + 2 * s.z.kv);
    const bool one_norm = s.model().parallel_block && s.model().shared_norm;
    const Tensor input = one_norm ? up_input : gather_rows(s, b, x.norm1, "attention.qkv.regathered");
    weight_gradient(b, dqkv, input, gradient_of(s, b, kind, "attention.query", "attention.value"));
  }
  lower_products(s, b);
  b.end_records(layer_done(s, b));
  return b.finish();
}

}  // namespace orrery::schedule
