// The embedding: vocabulary rows are sharded over the tensor group, so each rank's lookup is a partial sum.
// Then learned positions, the embedding's norm, dropout, each where the architecture has it.
#include "schedule/compile/blocks.h"
#include "schedule/compile/gradients.h"
#include "schedule/compile/tensor_parallel.h"

namespace orrery::schedule {
namespace {

constexpr UnitKind kUnit = UnitKind::embedding;

KernelShape position_shape(const Stage& s) {
  return {.n = s.sequence_parallel() && s.row_chunks() > 1 ? s.row_chunks() : 0,
          .batch = static_cast<std::int32_t>(s.z.batch),
          .sequence = static_cast<std::int32_t>(s.z.sequence),
          .sequence_sharded = s.sequence_parallel()};
}

// Token lookup and its reduction to this rank's rows, into `sum`.
void look_up(Stage& s, BlockBuilder& b, Tensor tokens, Tensor sum) {
  const Tensor w = weight_of(s, b, kUnit, "token");
  const Tensor partial = s.sequence_parallel()
                             ? workspace(s, b, "embedding.partial", s.activation_type, s.z.tokens, s.z.hidden)
                             : sum;
  b.add(OpKind::embedding_forward, {in(Role::w, w), in(Role::tokens, tokens), out(Role::y, partial)})
      .group(kTensor);
  if (s.sequence_parallel())
    scatter_rows(s, b, partial, sum);
  else if (s.tensor_parallel())
    b.add(OpKind::all_reduce, {accumulate(Role::y, sum)}).group(kTensor);
}

}  // namespace

BlockId input_block(Stage& s, bool tokens, bool labels) {
  BlockBuilder b(s.schedule, s.program, "input", Phase::forward);
  const Tensor t =
      tokens ? slot_tensor(s, b, "tokens", DataType::int32, Life::born, s.z.tokens, 1) : Tensor{};
  const Tensor l =
      labels ? slot_tensor(s, b, "labels", DataType::int32, Life::born, s.z.tokens, 1) : Tensor{};
  b.add(OpKind::input, {out(Role::tokens, t), out(Role::labels, l)});
  return b.finish();
}

BlockId embedding_forward(Stage& s) {
  BlockBuilder b(s.schedule, s.program, "embedding.forward", Phase::forward);
  s.weights_life.fill(end_weights_life(s, kUnit, false, false));
  const bool normed = s.model().embedding_norm, dropped = s.scenario.training.dropout > 0.0;
  const Tensor tokens = slot_tensor(s, b, "tokens", DataType::int32, Life::bound, s.z.tokens, 1);
  const std::uint32_t chunk = s.embedding_chunk;
  const bool alone = s.chunks > 1 && s.layers_of_chunk[chunk] == 0;  // sent on as it is
  const Tensor hidden =
      alone ? hidden_outgoing(s, b, Life::born) : hidden_at(s, b, s.first_unit_of_chunk[chunk], Life::born);
  b.begin_after(flat_weights(s, b, kUnit).formal);
  b.begin_after(hidden.formal);
  const auto stage_of_sum = [&](const char* name, bool last, bool kept) {
    if (last) return hidden;
    return kept ? slot_tensor(s, b, name, s.activation_type, Life::born, s.z.local_tokens, s.z.hidden)
                : workspace(s, b, name, s.activation_type, s.z.local_tokens, s.z.hidden);
  };
  Tensor x = stage_of_sum("embedding.sum", !normed && !dropped, normed);
  look_up(s, b, tokens, x);
  if (s.model().position == models::PositionKind::learned)
    b.add(OpKind::position_forward, {in(Role::w, weight_of(s, b, kUnit, "position")), accumulate(Role::y, x)},
          position_shape(s))
        .group(kTensor);
  if (normed) {
    const Tensor y = stage_of_sum("embedding.normed", !dropped, false);
    b.add(OpKind::norm_forward,
          {in(Role::x, x), in(Role::w, weight_of(s, b, kUnit, "norm.weight")),
           in(Role::bias, weight_of(s, b, kUnit, "norm.bias")), out(Role::y, y)},
          norm_shape(s));
    x = y;
  }
  if (dropped)
    b.add(OpKind::dropout_forward,
          {in(Role::x, x), out(Role::y, hidden),
           out(Role::mask, slot_tensor(s, b, "embedding.mask", DataType::byte, Life::born, s.z.local_tokens,
                                       s.z.hidden))},
          dropout_shape(s))
        .group(kTensor)
        .site(kEmbeddingDropout);
  b.end_records(done(s, b, kUnit));
  return b.finish();
}

BlockId embedding_backward(Stage& s, bool last) {
  BlockBuilder b(s.schedule, s.program, "embedding.backward", Phase::backward);
  const Life weights = end_weights_life(s, kUnit, true, last);
  s.weights_life.fill(weights);
  if (head_begins_embedding_gradient(s))
    s.gradients_life[static_cast<std::size_t>(kUnit)] = Life::bound;
  else
    begin_gradients(s, b, kUnit);
  const Tensor tokens = slot_tensor(s, b, "tokens", DataType::int32, Life::dies, s.z.tokens, 1);
  Tensor d = hidden_gradient(s, b, Life::dies);
  b.begin_after(d.formal);
  if (s.scenario.training.dropout > 0.0) {
    const Tensor undropped = workspace(s, b, "embedding.dundropped", s.activation_type, d.rows, d.columns);
    const Tensor mask = slot_tensor(s, b, "embedding.mask", DataType::byte, Life::dies, d.rows, d.columns);
    b.add(OpKind::dropout_backward, {in(Role::dy, d), in(Role::mask, mask), out(Role::dx, undropped)},
          dropout_shape(s));
    d = undropped;
  }
  if (s.model().embedding_norm) {
    const Tensor sum = slot_tensor(s, b, "embedding.sum", s.activation_type, Life::dies, d.rows, d.columns);
    const Tensor before = workspace(s, b, "embedding.dsum", s.activation_type, d.rows, d.columns);
    b.begin_after(flat_weights(s, b, kUnit).formal);
    b.add(OpKind::norm_backward,
          {in(Role::dy, d), in(Role::x, sum), in(Role::w, weight_of(s, b, kUnit, "norm.weight")),
           out(Role::dx, before), accumulate(Role::dw, gradient_of(s, b, kUnit, "norm.weight")),
           accumulate(Role::dbias, gradient_of(s, b, kUnit, "norm.bias"))},
          norm_shape(s));
    d = before;
  }
  if (s.model().position == models::PositionKind::learned)
    b.add(OpKind::position_backward,
          {in(Role::dy, d), accumulate(Role::dw, gradient_of(s, b, kUnit, "position"))}, position_shape(s))
        .group(kTensor);
  const Tensor full = gather_rows(s, b, d, "embedding.gathered");
  b.add(OpKind::embedding_backward, {in(Role::dy, full), in(Role::tokens, tokens),
                                     accumulate(Role::dw, gradient_of(s, b, kUnit, "token"))})
      .group(kTensor);
  // Without a norm the backward reads no weights; those that stayed gathered end here.
  if (s.zero() == 3 && s.keep(kUnit) != Keep::use && weights == Life::dies && !s.model().embedding_norm)
    b.release(s.states(UnitKind::embedding).weights, {});
  b.end_records(done(s, b, kUnit));
  return b.finish();
}

}  // namespace orrery::schedule
