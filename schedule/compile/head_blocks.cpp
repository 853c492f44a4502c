// The head: the last norm, the output projection (the token table where tied) and the cross entropy over a
// vocabulary that is sharded on the tensor group (Shoeybi et al. 2019, section 3): maximum and sum of
// exponentials are reduced, never the logits. Saved at 16 bits: norm input and output 4 s b h / t, fp32
// logits 4 s b v / t (Korthikanti et al. 2022, section 4.3).
#include <string>

#include "schedule/compile/blocks.h"
#include "schedule/compile/gradients.h"
#include "schedule/compile/tensor_parallel.h"

namespace orrery::schedule {
namespace {

bool tied(const Stage& s) { return s.model().tied_embeddings; }
UnitKind output_kind(const Stage& s) { return tied(s) ? UnitKind::embedding : UnitKind::head; }
const char* output_name(const Stage& s) { return tied(s) ? "token" : "output"; }

bool casts_logits(const Stage& s) {
  return s.scenario.kernels.fp32_logits && s.activation_type != DataType::fp32;
}

Tensor kept_logits(Stage& s, BlockBuilder& b, Life life) {
  return slot_tensor(s, b, "logits", casts_logits(s) ? DataType::fp32 : s.activation_type, life, s.z.tokens,
                     s.z.vocab);
}

Tensor head_norm(Stage& s, BlockBuilder& b, Life life) {
  return slot_tensor(s, b, "head.norm", s.activation_type, life, s.z.local_tokens, s.z.hidden);
}

Tensor head_input(Stage& s, BlockBuilder& b, Life life) {
  const auto end = static_cast<std::uint32_t>(s.layers_of_chunk[s.head_chunk]);
  return hidden_at(s, b, s.first_unit_of_chunk[s.head_chunk] + end, life);
}

// Every token of the global batch weighs the same, so gradients of microbatches and data-parallel ranks just
// add.
KernelShape loss_shape(const Stage& s) {
  const scenarios::Training& t = s.scenario.training;
  return {.scale = 1.0 / (static_cast<double>(t.global_batch) * static_cast<double>(t.sequence_length))};
}

// A tied table that stays gathered for the embedding's own blocks ends with the last of those.
void set_weights_life(Stage& s, bool backward, bool last) {
  s.weights_life.fill(end_weights_life(s, UnitKind::head, backward, last));
  if (s.has_embedding && s.keep(UnitKind::embedding) != Keep::use)
    s.weights_life[static_cast<std::size_t>(UnitKind::embedding)] = Life::bound;
}

void cross_entropy(Stage& s, BlockBuilder& b, Tensor logits, Tensor labels) {
  const Tensor stats = slot_tensor(s, b, "loss.stats", DataType::fp32, Life::born, s.z.tokens, 4);
  const auto reduce = [&](Tensor part, Reduce op) {
    if (s.tensor_parallel())
      b.add(OpKind::all_reduce, {accumulate(Role::y, part)}, KernelShape{.reduce = op}).group(kTensor);
  };
  b.add(OpKind::cross_entropy_max, {in(Role::x, logits), out(Role::stats, stats)});
  reduce(columns_of(stats, 0, 1), Reduce::max);
  b.add(OpKind::cross_entropy_sum,
        {in(Role::x, logits), in(Role::labels, labels), accumulate(Role::stats, stats)})
      .group(kTensor);
  reduce(columns_of(stats, 1, 2), Reduce::sum);
  b.add(OpKind::cross_entropy_loss,
        {accumulate(Role::stats, stats), accumulate(Role::loss, b.tensor(s.loss, {}, Life::bound, 1, 1))},
        loss_shape(s));
  b.end_records(done(s, b, UnitKind::head));
}

// The gradient of the logits in the type of the GEMMs; without a cast it takes the logits' place. Kept where the weight
// gradient is another block; of some microbatches only, where it is deferred.
Tensor logits_gradient(Stage& s, BlockBuilder& b, Life life, bool kept) {
  if (!casts_logits(s)) return kept_logits(s, b, life);
  if (!kept) return workspace(s, b, "logits.gradient", s.activation_type, s.z.tokens, s.z.vocab);
  const char* name = s.splits_backward ? "logits.gradient" : "logits.deferred_gradient";
  return slot_tensor(s, b, name, s.activation_type, life, s.z.tokens, s.z.vocab);
}

void output_weight_gradient(Stage& s, BlockBuilder& b, Tensor dlogits, Tensor full) {
  b.add(OpKind::gemm,
        {in(Role::dy, dlogits), in(Role::x, full),
         accumulate(Role::dw, gradient_of(s, b, output_kind(s), output_name(s)))},
        weight_gradient_gemm(dlogits, full));
}

}  // namespace

Life end_weights_life(const Stage& s, UnitKind kind, bool backward, bool last) {
  switch (s.keep(kind)) {
    case Keep::use:
      return Life::dies;
    case Keep::microbatch:
      return backward ? Life::dies : Life::bound;
    case Keep::step:
      return backward && last ? Life::dies : Life::bound;
  }
  return Life::bound;
}

bool head_begins_embedding_gradient(const Stage& s) { return s.has_head && tied(s); }

BlockId head_forward(Stage& s) {
  BlockBuilder b(s.schedule, s.program, "head.forward", Phase::forward);
  set_weights_life(s, false, false);
  const Tensor x = head_input(s, b, Life::bound), norm = head_norm(s, b, Life::born);
  const Tensor labels = slot_tensor(s, b, "labels", DataType::int32, Life::bound, s.z.tokens, 1);
  b.begin_after(x.formal);
  b.begin_after(flat_weights(s, b, UnitKind::head).formal);
  if (tied(s)) b.begin_after(flat_weights(s, b, UnitKind::embedding).formal);
  b.add(OpKind::norm_forward,
        {in(Role::x, x), in(Role::w, weight_of(s, b, UnitKind::head, "norm.weight")),
         in(Role::bias, weight_of(s, b, UnitKind::head, "norm.bias")), out(Role::y, norm)},
        norm_shape(s));
  const Tensor full = gather_rows(s, b, norm, "head.gathered");
  const Tensor w = weight_of(s, b, output_kind(s), output_name(s));
  const Tensor bias = weight_of(s, b, UnitKind::head, "output_bias");
  const Tensor kept = kept_logits(s, b, Life::born);
  const Tensor logits =
      casts_logits(s) ? workspace(s, b, "logits.raw", s.activation_type, s.z.tokens, s.z.vocab) : kept;
  b.add(OpKind::gemm, {in(Role::x, full), in(Role::w, w), in(Role::bias, bias), out(Role::y, logits)},
        forward_gemm(full, w));
  if (casts_logits(s)) b.add(OpKind::cast, {in(Role::x, logits), out(Role::y, kept)});
  cross_entropy(s, b, kept, labels);
  return b.finish();
}

BlockId head_backward(Stage& s, bool last, bool deferred) {
  BlockBuilder b(s.schedule, s.program, deferred ? "head.backward.deferring" : "head.backward", Phase::backward);
  set_weights_life(s, true, last);
  begin_gradients(s, b, UnitKind::head);
  if (tied(s)) begin_gradients(s, b, UnitKind::embedding);
  const bool split = s.splits_backward || deferred;
  const Tensor x = head_input(s, b, Life::dies), norm = split ? Tensor{} : head_norm(s, b, Life::dies);
  b.begin_after(flat_weights(s, b, UnitKind::head).formal);
  if (tied(s)) b.begin_after(flat_weights(s, b, UnitKind::embedding).formal);
  b.begin_after(hidden_gradient(s, b, Life::born).formal);
  const Tensor kept = kept_logits(s, b, split && !casts_logits(s) ? Life::bound : Life::dies);
  b.add(OpKind::cross_entropy_backward,
        {in(Role::x, kept),
         in(Role::stats, slot_tensor(s, b, "loss.stats", DataType::fp32, Life::dies, s.z.tokens, 4)),
         in(Role::labels, slot_tensor(s, b, "labels", DataType::int32, Life::dies, s.z.tokens, 1)),
         out(Role::dx, kept)},
        loss_shape(s))
      .group(kTensor);
  Tensor dlogits = kept;
  if (casts_logits(s)) {
    dlogits = logits_gradient(s, b, Life::born, split);
    b.add(OpKind::cast, {in(Role::x, kept), out(Role::y, dlogits)});
  }
  const Tensor w = weight_of(s, b, output_kind(s), output_name(s));
  const Stream stream = hidden_stream(s);
  const Tensor full = split ? Tensor{} : gather_rows(s, b, norm, "head.regathered", stream);
  const Tensor partial = workspace(s, b, "head.dpartial", s.activation_type, s.z.tokens, s.z.hidden);
  b.add(OpKind::gemm, {in(Role::dy, dlogits), in(Role::w, w), out(Role::dx, partial)},
        input_gradient_gemm(dlogits, w));
  const Tensor dnorm = reduce_rows(s, b, partial, "head.dreduced", stream);
  if (!split) output_weight_gradient(s, b, dlogits, full);
  const Tensor dbias = gradient_of(s, b, UnitKind::head, "output_bias");
  if (dbias.exists()) b.add(OpKind::bias_backward, {in(Role::dy, dlogits), accumulate(Role::dbias, dbias)});
  b.add(OpKind::norm_backward,
        {in(Role::dy, dnorm), in(Role::x, x), in(Role::w, weight_of(s, b, UnitKind::head, "norm.weight")),
         out(Role::dx, hidden_gradient(s, b, Life::born)),
         accumulate(Role::dw, gradient_of(s, b, UnitKind::head, "norm.weight")),
         accumulate(Role::dbias, gradient_of(s, b, UnitKind::head, "norm.bias"))},
        norm_shape(s));
  b.end_records(done(s, b, UnitKind::head));
  return b.finish();
}

BlockId head_weight_gradients(Stage& s) {
  BlockBuilder b(s.schedule, s.program, "head.weight_gradients", Phase::weight_gradient);
  s.gradients_life.fill(Life::bound);
  const Tensor full = gather_rows(s, b, head_norm(s, b, Life::dies), "head.regathered");
  output_weight_gradient(s, b, logits_gradient(s, b, Life::dies, true), full);
  b.end_records(done(s, b, UnitKind::head));
  return b.finish();
}

}  // namespace orrery::schedule
