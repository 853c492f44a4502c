// One layer's forward. Sequential block: x1 = x + attention(norm1(x)), y = x1 + mlp(norm2(x1)); parallel
// block: y = x + attention(norm1(x)) + mlp(norm2(x)), whose forward reduces both branches at once. Saved per
// token and layer, in bytes at 16 bits without tensor parallelism (Korthikanti et al. 2022, section 4.1, GPT
// with dropout and separate attention): 34 h + 5 a s.
#include "schedule/compile/blocks.h"
#include "schedule/compile/context_parallel.h"
#include "schedule/compile/low_precision.h"
#include "schedule/compile/tensor_parallel.h"

namespace orrery::schedule {

KernelShape norm_shape(const Stage& s) {
  return {.norm = s.model().norm == models::NormKind::rms_norm ? Norm::rms_norm : Norm::layer_norm};
}

KernelShape dropout_shape(const Stage& s) {
  return {.n = s.sequence_parallel() && s.row_chunks() > 1 ? s.row_chunks() : 0,
          .sequence_sharded = s.sequence_parallel(),
          .dropout = s.scenario.training.dropout};
}

KernelShape activation_shape(const Stage& s) {
  switch (s.model().activation) {
    case models::ActivationKind::gelu:
      return {.activation = Activation::gelu};
    case models::ActivationKind::relu:
      return {.activation = Activation::relu};
    case models::ActivationKind::squared_relu:
      return {.activation = Activation::squared_relu};
    case models::ActivationKind::swiglu:
      return {.activation = Activation::swiglu};
    case models::ActivationKind::geglu:
      return {.activation = Activation::geglu};
  }
  return {};
}

KernelShape attention_shape(const Stage& s) {
  return {.batch = static_cast<std::int32_t>(s.z.batch),
          .sequence = static_cast<std::int32_t>(s.z.sequence),
          .heads = static_cast<std::int32_t>(s.z.heads),
          .kv_heads = static_cast<std::int32_t>(s.z.kv_heads),
          .head_dim = static_cast<std::int32_t>(s.z.head_dim),
          .value_dim = static_cast<std::int32_t>(s.model().latent.value_dim),
          .rope_dim = static_cast<std::int32_t>(s.model().latent.rope_dim),
          .causal = true,
          .alibi = s.model().position == models::PositionKind::alibi,
          .dropout = s.scenario.training.dropout};
}

QueryKeyValue split(const Stage& s, Tensor qkv) {
  return {.q = columns_of(qkv, 0, s.z.query),
          .k = columns_of(qkv, s.z.query, s.z.kv),
          .v = columns_of(qkv, s.z.query + s.z.kv, s.z.kv)};
}

QueryKeyValue attention_inputs(const Stage& s, const LayerTensors& t) {
  QueryKeyValue r = split(s, t.qkv);
  if (t.normed_qk.exists()) {
    r.q = columns_of(t.normed_qk, 0, s.z.query);
    r.k = columns_of(t.normed_qk, s.z.query, s.z.kv);
  }
  return r;
}

namespace {

// q, k and v as made, and, where heads are exchanged, as attention reads them: then that is what is saved, and what was
// made is needed again for the norms of heads only.
void add_qkv(Stage& s, BlockBuilder& b, Life life, LayerTensors& t) {
  const Sizes& z = s.z;
  const bool exchanged = s.ulysses() > 1, normed = s.model().qk_norm;
  const auto tensor = [&](const char* name, bool saved, std::int64_t rows, std::int64_t columns) {
    if (!saved && life == Life::dies) return Tensor{};  // the backward does without
    return layer_tensor(s, b, name, s.activation_type, saved ? life : Life::local, rows, columns);
  };
  const std::int64_t columns = z.query + 2 * z.kv;
  t.qkv = tensor("qkv", !exchanged || normed, z.tokens, columns);
  if (normed) t.normed_qk = tensor("normed_qk", !exchanged, z.tokens, z.query + z.kv);
  if (!exchanged) return;
  t.exchanged = tensor("qkv.exchanged", true, z.tokens * s.ulysses(), columns / s.ulysses());
  t.exchanged_out = tensor("attention.out_exchanged", true, z.tokens * s.ulysses(), z.query / s.ulysses());
}

}  // namespace

LayerTensors layer_tensors(Stage& s, BlockBuilder& b, Life life, Life linear_inputs_life) {
  const Sizes& z = s.z;
  const DataType type = s.activation_type;
  const scenarios::Kernels& kernels = s.scenario.kernels;
  const bool dropout = s.scenario.training.dropout > 0.0, parallel = s.model().parallel_block;
  // Selective recomputation keeps q, k, v and the attention's output, and runs what lies between again.
  const bool selective = s.scenario.training.recompute == scenarios::Recompute::selective;
  const Life core = selective ? Life::local : life;
  const auto row = [&](const char* name, Life l) {
    return layer_tensor(s, b, name, type, l, z.local_tokens, z.hidden);
  };
  LayerTensors t;
  t.norm1 = row("norm1", linear_inputs_life);
  if (s.model().latent.kv_rank > 0) t.latent = latent_tensors(s, b, life, linear_inputs_life);
  add_qkv(s, b, life, t);
  const std::int64_t score_rows = z.batch * z.heads * z.sequence;
  if (kernels.fused_attention) {
    t.lse = layer_tensor(s, b, "attention.lse", DataType::fp32, core, z.batch * z.heads / s.ulysses(),
                         z.sequence * s.ulysses());
  } else {
    const DataType kept = kernels.softmax_fp32_copy ? DataType::fp32 : type;
    t.probabilities = layer_tensor(s, b, "attention.probabilities", kept, core, score_rows, z.sequence);
    if (dropout)
      t.probability_mask = layer_tensor(s, b, "attention.mask", DataType::byte, core, score_rows, z.sequence);
    t.dropped = dropout || kept != type
                    ? layer_tensor(s, b, "attention.dropped", type, core, score_rows, z.sequence)
                    : t.probabilities;
  }
  t.out = layer_tensor(s, b, "attention.out", type, linear_inputs_life, z.tokens, z.query);
  if (s.model().post_norms) t.branch1 = row("branch1", life);
  if (dropout) t.mask1 = layer_tensor(s, b, "mask1", DataType::byte, life, z.local_tokens, z.hidden);
  if (!parallel) t.middle = row("middle", life);
  const bool experts = s.layer_kind == UnitKind::expert_layer, mlp = !experts || z.shared_ffn > 0;
  if (!(parallel && s.model().shared_norm)) t.norm2 = row("norm2", mlp ? linear_inputs_life : life);
  if (experts) t.experts = expert_tensors(s, b, life, linear_inputs_life);
  if (mlp) {
    t.up = layer_tensor(s, b, mlp_name(s) + ".up", type, life, z.tokens, experts ? z.shared_up : z.up);
    t.activated = layer_tensor(s, b, mlp_name(s) + ".activated", type, linear_inputs_life, z.tokens,
                               experts ? z.shared_ffn : z.ffn);
  }
  if (s.model().post_norms) t.branch2 = row("branch2", life);
  if (dropout) t.mask2 = layer_tensor(s, b, "mask2", DataType::byte, life, z.local_tokens, z.hidden);
  return t;
}

std::string mlp_name(const Stage& s) { return s.layer_kind == UnitKind::expert_layer ? "shared" : "mlp"; }

LinearInputs linear_inputs(Stage& s, BlockBuilder& b, Life life) {
  const auto tensor = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    return layer_tensor(s, b, name, s.activation_type, life, rows, columns);
  };
  LinearInputs x;
  x.norm1 = tensor("norm1", s.z.local_tokens, s.z.hidden);
  x.out = tensor("attention.out", s.z.tokens, s.z.query);
  const bool experts = s.layer_kind == UnitKind::expert_layer;
  if (experts && s.z.shared_ffn == 0) return x;
  if (!(s.model().parallel_block && s.model().shared_norm)) x.norm2 = tensor("norm2", s.z.local_tokens, s.z.hidden);
  x.activated = tensor((mlp_name(s) + ".activated").c_str(), s.z.tokens, experts ? s.z.shared_ffn : s.z.ffn);
  return x;
}

void write_probabilities(Stage& s, BlockBuilder& b, const LayerTensors& t) {
  const KernelShape shape = attention_shape(s);
  const QueryKeyValue a = attention_inputs(s, t);
  Tensor scores =
      workspace(s, b, "attention.scores", s.activation_type, t.probabilities.rows, t.probabilities.columns);
  b.add(OpKind::attention_scores, {in(Role::q, a.q), in(Role::k, a.k), out(Role::y, scores)}, shape);
  if (!s.scenario.kernels.fused_softmax) {  // scale and mask as a pass of their own
    const Tensor masked = workspace(s, b, "attention.masked", s.activation_type, scores.rows, scores.columns);
    b.add(OpKind::cast, {in(Role::x, scores), out(Role::y, masked)});
    scores = masked;
  }
  b.add(OpKind::softmax_forward, {in(Role::x, scores), out(Role::y, t.probabilities)}, shape).group(kTensor);
  if (t.probability_mask.exists())
    b.add(OpKind::dropout_forward,
          {in(Role::x, t.probabilities), out(Role::y, t.dropped), out(Role::mask, t.probability_mask)}, shape)
        .group(kTensor)
        .site(kAttentionDropout);
  else if (t.dropped.formal != t.probabilities.formal)
    b.add(OpKind::cast, {in(Role::x, t.probabilities), out(Role::y, t.dropped)});
}

void write_fused_attention(Stage& s, BlockBuilder& b, const LayerTensors& t, Tensor out_tensor) {
  const QueryKeyValue a = attention_inputs(s, t);
  b.add(OpKind::attention_forward,
        {in(Role::q, a.q), in(Role::k, a.k), in(Role::v, a.v), out(Role::o, out_tensor),
         out(Role::lse, t.lse)},
        attention_shape(s))
      .group(kTensor)
      .site(kAttentionDropout);
}

namespace {

Tensor norm(Stage& s, BlockBuilder& b, const std::string& name, Tensor x, Tensor y) {
  b.add(OpKind::norm_forward,
        {in(Role::x, x), in(Role::w, weight_of(s, b, s.layer_kind, name + ".weight")),
         in(Role::bias, weight_of(s, b, s.layer_kind, name + ".bias")), out(Role::y, y)},
        norm_shape(s));
  return y;
}

void write_qkv(Stage& s, BlockBuilder& b, const LayerTensors& t, const Gathered& x) {
  const Tensor w = weight_of(s, b, s.layer_kind, "attention.query", "attention.value");
  const Tensor bias = s.model().qkv_bias
                          ? weight_of(s, b, s.layer_kind, "attention.query_bias", "attention.value_bias")
                          : Tensor{};
  column_parallel(s, b, x, {w, bias}, t.qkv);
  const QueryKeyValue raw = split(s, t.qkv), a = attention_inputs(s, t);
  if (t.normed_qk.exists()) {
    const KernelShape shape = attention_shape(s);
    b.add(OpKind::head_norm_forward,
          {in(Role::x, raw.q), in(Role::w, weight_of(s, b, s.layer_kind, "attention.query_norm")),
           out(Role::y, a.q)},
          shape);
    b.add(OpKind::head_norm_forward,
          {in(Role::x, raw.k), in(Role::w, weight_of(s, b, s.layer_kind, "attention.key_norm")),
           out(Role::y, a.k)},
          shape);
  }
  if (s.model().position == models::PositionKind::rotary)
    b.add(OpKind::rotary_forward, {accumulate(Role::q, a.q), accumulate(Role::k, a.k)}, attention_shape(s));
}

// From norm1's output, gathered, to the heads' outputs that the projection reads.
Tensor write_attention(Stage& s, BlockBuilder& b, const LayerTensors& t, const Gathered& x) {
  const bool latent = s.model().latent.kv_rank > 0;
  if (latent)
    write_latent_qkv(s, b, t.latent, t.norm1, t.qkv);
  else
    write_qkv(s, b, t, x);
  if (s.context_parallel()) {
    write_context_attention(s, b, t, t.out);
  } else if (s.scenario.kernels.fused_attention) {
    write_fused_attention(s, b, t, t.out);
  } else {
    write_probabilities(s, b, t);
    b.add(OpKind::attention_context,
          {in(Role::x, t.dropped), in(Role::v, attention_inputs(s, t).v), out(Role::o, t.out)},
          attention_shape(s));
  }
  return latent ? resized_heads(s, b, "attention.trimmed", t.out, false) : t.out;
}

Tensor partial_sums(Stage& s, BlockBuilder& b, const char* name) {
  return workspace(s, b, name, s.activation_type, s.z.tokens, s.z.hidden);
}

// The MLP, from its norm's output, gathered, to its activation's output. With fused elementwise kernels the bias is added by
// the activation, else by the GEMM.
void write_mlp(Stage& s, BlockBuilder& b, const LayerTensors& t, const Gathered& x) {
  const bool gated = models::gated(s.model().activation);
  const Tensor w = weight_of(s, b, s.layer_kind, gated ? "mlp.gate" : "mlp.up", "mlp.up");
  const Tensor bias = s.model().mlp_bias ? weight_of(s, b, s.layer_kind,
                                                     gated ? "mlp.gate_bias" : "mlp.up_bias", "mlp.up_bias")
                                         : Tensor{};
  const bool fused = s.scenario.kernels.fused_elementwise;
  column_parallel(s, b, x, {w, fused ? Tensor{} : bias}, t.up);
  b.add(OpKind::activation_forward,
        {in(Role::x, t.up), in(Role::bias, fused ? bias : Tensor{}), out(Role::y, t.activated)},
        activation_shape(s));
}

// y = residual + dropout(x + bias), in one kernel or two.
void add_residual(Stage& s, BlockBuilder& b, Tensor x, Tensor bias, Tensor residual, Tensor mask, Tensor y,
                  int site) {
  KernelShape shape = dropout_shape(s);
  Tensor addend = x;
  if (mask.exists() && !s.scenario.kernels.fused_elementwise) {
    Tensor biased = x;
    if (bias.exists()) {  // the bias has to be inside the dropout
      biased = workspace(s, b, "residual.biased", s.activation_type, x.rows, x.columns);
      KernelShape plain = shape;
      plain.dropout = 0.0;
      b.add(OpKind::bias_dropout_add_forward, {in(Role::x, x), in(Role::bias, bias), out(Role::y, biased)},
            plain);
    }
    addend = workspace(s, b, "residual.dropped", s.activation_type, x.rows, x.columns);
    b.add(OpKind::dropout_forward, {in(Role::x, biased), out(Role::y, addend), out(Role::mask, mask)}, shape)
        .group(kTensor)
        .site(site);
    bias = {};
    mask = {};
  }
  if (!mask.exists()) shape.dropout = 0.0;
  b.add(OpKind::bias_dropout_add_forward,
        {in(Role::x, addend), in(Role::bias, bias), in(Role::residual, residual), out(Role::y, y),
         out(Role::mask, mask)},
        shape)
      .group(kTensor)
      .site(site);
}

// Gemma-2 norms each branch before it joins the residual stream: the branch's value is kept, its norm is not.
Tensor post_norm(Stage& s, BlockBuilder& b, const std::string& name, Tensor x, Tensor kept) {
  if (!kept.exists()) return x;
  b.add(OpKind::cast, {in(Role::x, x), out(Role::y, kept)});
  const Tensor y = workspace(s, b, name + ".normed", s.activation_type, s.z.local_tokens, s.z.hidden);
  return norm(s, b, name, kept, y);
}

// Of a layer with experts, the shared ones are the MLP.
Tensor write_mlp_or_experts(Stage& s, BlockBuilder& b, const LayerTensors& t) {
  const auto mlp = [&] {
    write_mlp(s, b, t, gather_in_chunks(s, b, t.norm2, "gathered_norm2"));
    const Tensor down = weight_of(s, b, s.layer_kind, "mlp.down"), partial = partial_sums(s, b, "mlp.partial");
    return row_parallel(s, b, t.activated, down, partial, "mlp.reduced");
  };
  if (s.layer_kind != UnitKind::expert_layer) return mlp();
  Tensor shared;
  const Tensor y = write_experts(s, b, t.experts, t.norm2, [&] {
    if (t.up.exists()) shared = mlp();
  });
  if (shared.exists()) b.add(OpKind::add, {in(Role::x, shared), accumulate(Role::y, y)});
  return y;
}

void write_sequential(Stage& s, BlockBuilder& b, const LayerTensors& t, Tensor x, Tensor y) {
  norm(s, b, "norm1", x, t.norm1);
  const Gathered x1 = s.model().latent.kv_rank > 0 ? Gathered{t.norm1} : gather_in_chunks(s, b, t.norm1, "gathered_norm1");
  const Tensor heads = write_attention(s, b, t, x1);
  const Tensor project = weight_of(s, b, s.layer_kind, "attention.out"), partial = partial_sums(s, b, "attention.partial");
  Tensor branch = row_parallel(s, b, heads, project, partial, "attention.reduced");
  branch = post_norm(s, b, "post_norm1", branch, t.branch1);
  add_residual(s, b, branch, weight_of(s, b, s.layer_kind, "attention.out_bias"), x, t.mask1, t.middle,
               kAttentionOutDropout);
  norm(s, b, "norm2", t.middle, t.norm2);
  branch = write_mlp_or_experts(s, b, t);
  branch = post_norm(s, b, "post_norm2", branch, t.branch2);
  add_residual(s, b, branch, weight_of(s, b, s.layer_kind, "mlp.down_bias"), t.middle, t.mask2, y,
               kMlpDropout);
}

// Without dropout both branches end in one sum, reduced once; with it each is dropped out by itself, behind
// its own reduction.
void write_parallel(Stage& s, BlockBuilder& b, const LayerTensors& t, Tensor x, Tensor y) {
  norm(s, b, "norm1", x, t.norm1);
  const Tensor x1 = gather_rows(s, b, t.norm1, "gathered_norm1");
  const Tensor heads = write_attention(s, b, t, {x1});
  const Tensor attention = partial_sums(s, b, "attention.partial");
  const Tensor project = weight_of(s, b, s.layer_kind, "attention.out");
  b.add(OpKind::gemm, {in(Role::x, heads), in(Role::w, project), out(Role::y, attention)},
        forward_gemm(heads, project));
  Tensor x2 = x1;
  if (t.norm2.exists()) x2 = gather_rows(s, b, norm(s, b, "norm2", x, t.norm2), "gathered_norm2");
  const Tensor out_bias = weight_of(s, b, s.layer_kind, "attention.out_bias");
  const Tensor down_bias = weight_of(s, b, s.layer_kind, "mlp.down_bias");
  const bool once = !t.mask1.exists();
  write_mlp(s, b, t, {x2});
  const Tensor mlp = once ? attention : partial_sums(s, b, "mlp.partial");
  const Tensor down = weight_of(s, b, s.layer_kind, "mlp.down");
  b.add(OpKind::gemm,
        {in(Role::x, t.activated), in(Role::w, down), once ? accumulate(Role::y, mlp) : out(Role::y, mlp)},
        forward_gemm(t.activated, down));
  const Tensor reduced = reduce_rows(s, b, attention, "attention.reduced");
  const bool last = once && !down_bias.exists();
  const Tensor sum =
      last ? y : workspace(s, b, "residual.sum", s.activation_type, s.z.local_tokens, s.z.hidden);
  add_residual(s, b, reduced, out_bias, x, t.mask1, sum, kAttentionOutDropout);
  if (last) return;
  if (once)
    b.add(OpKind::bias_dropout_add_forward, {in(Role::x, sum), in(Role::bias, down_bias), out(Role::y, y)},
          KernelShape{});
  else
    add_residual(s, b, reduce_rows(s, b, mlp, "mlp.reduced"), down_bias, sum, t.mask2, y, kMlpDropout);
}

}  // namespace

void release_layers(Stage& s, BlockBuilder& b, std::uint32_t releases, bool ahead, std::uint32_t spares) {
  const UnitStates& layer = s.states(s.layer_kind);
  for (std::uint32_t i = std::max(spares, 1U); i < releases; ++i)
    b.release(layer.weights, {.base = ahead ? layer.margin + i : layer.margin - i, .unit_stride = 1});
}

namespace {

BlockBuilder forward_block(Stage& s, const ForwardMode& mode) {
  BlockBuilder b(s.schedule, s.program, mode.name, mode.phase);
  s.layer_kind = mode.kind;
  s.workspace_apart = s.joined && mode.phase == Phase::recompute;
  s.weights_life.fill(mode.releases > 0 && mode.spares == 0 ? Life::dies : Life::bound);
  const Tensor x = hidden_of_layer(s, b, 0, mode.frees_input ? Life::dies : Life::bound);
  const Life output = mode.keeps_output ? Life::born : Life::local;
  const Tensor y = mode.sends_output ? hidden_outgoing(s, b, output) : hidden_of_layer(s, b, 1, output);
  b.begin_after(flat_weights(s, b, s.layer_kind).formal);
  if (mode.kind == UnitKind::expert_layer) b.begin_after(flat_weights(s, b, UnitKind::experts).formal);
  b.begin_after(x.formal);
  b.begin_after(y.formal);
  const LayerTensors t = layer_tensors(s, b, mode.saves ? Life::born : Life::local);
  if (s.model().parallel_block)
    write_parallel(s, b, t, x, y);
  else
    write_sequential(s, b, t, x, y);
  lower_products(s, b);
  release_layers(s, b, mode.releases, false, mode.spares);
  b.end_records(layer_done(s, b));
  s.workspace_apart = false;
  return b;
}

}  // namespace

BlockId layer_forward(Stage& s, const ForwardMode& mode) { return forward_block(s, mode).finish(); }

std::vector<BlockId> layer_forward_parts(Stage& s, const ForwardMode& mode) {
  s.joined = true;
  BlockBuilder b = forward_block(s, mode);
  s.joined = false;
  return b.finish_parts();
}

}  // namespace orrery::schedule
