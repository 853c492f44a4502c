// Arithmetic of each kind. Attention: one s x s product of all heads is 2 s^2 d heads b FLOPs; forward has
// two of them (scores, context), backward four (dP, dV, dQ, dK). A fused causal kernel skips the upper half
// of the square and its backward recomputes the scores: 5 products, 2.5 x forward (Dao 2023,
// "FlashAttention-2", section 4.1). The same half holds for a rank's part of a sequence: cut in zig-zag, its queries see
// half of the keys of each member of the ring, and of all of them together (docs/models/context.md). Bytes count each view once; look-ups touch only the rows they look up.
// Cost: a few additions an op.
#include "schedule/kernel_work.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::schedule {
namespace {

// FLOPs of one full product, queries x keys, over all heads of all sequences.
double square_product(const KernelShape& s) {
  return 2.0 * s.sequence * (s.keys > 0 ? s.keys : s.sequence) * s.head_dim * s.heads * s.batch;
}

// How many s x s products the definition of attention has in this op.
double square_products(OpKind kind) {
  if (kind == OpKind::attention_forward) return 2.0;
  if (kind == OpKind::attention_backward) return 4.0;
  const bool one = kind == OpKind::attention_scores || kind == OpKind::attention_context ||
                   kind == OpKind::attention_dprobabilities || kind == OpKind::attention_dvalue ||
                   kind == OpKind::attention_dquery || kind == OpKind::attention_dkey;
  return one ? 1.0 : 0.0;
}

double executed_flops(OpKind kind, const KernelShape& s) {
  if (kind == OpKind::gemm || kind == OpKind::grouped_gemm)
    return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  const double visible = s.causal ? 0.5 : 1.0;
  if (kind == OpKind::attention_forward) return 2.0 * visible * square_product(s);
  if (kind == OpKind::attention_backward) return 5.0 * visible * square_product(s);
  return square_products(kind) * square_product(s);
}

std::int64_t bytes_of(const Program& program, const Block& block, const View& view) {
  return bytes_of(program.buffer(block, view).type, view.count());
}

// Elements that an op looks up in a view which is larger than what it needs of it.
std::int64_t touched_count(const Program& program, const Op& op, const View& view) {
  const auto at_most = [&](Role other) {
    const View* v = program.find(op, other);
    return v == nullptr ? view.count() : std::min(view.count(), v->count());
  };
  const bool forward = op.kind == OpKind::embedding_forward || op.kind == OpKind::position_forward;
  const bool backward = op.kind == OpKind::embedding_backward || op.kind == OpKind::position_backward;
  if (forward && view.role == Role::w) return at_most(Role::y);
  if (backward && view.role == Role::dw) return at_most(Role::dy);
  if (op.kind == OpKind::top_k_apply && view.role == Role::y) {
    const View* pairs = program.find(op, Role::x);
    return pairs == nullptr ? view.count() : std::min(view.count(), pairs->count() / 2);
  }
  return view.count();
}

}  // namespace

KernelWork work_of(const Program& program, const Op& op, const KernelShape& shape) {
  KernelWork work;
  work.flops = Flops(executed_flops(op.kind, shape));
  if (op.phase == Phase::forward || op.phase == Phase::backward || op.phase == Phase::weight_gradient) {
    // Padded values are no work that the model asks for.
    const double asked = shape.value_dim > 0 ? 0.5 * (1.0 + static_cast<double>(shape.value_dim) / shape.head_dim) : 1.0;
    work.square = Flops(square_products(op.kind) * square_product(shape) * asked);
    const bool product = op.kind == OpKind::gemm || op.kind == OpKind::grouped_gemm;
    work.model_flops = product ? work.flops : work.square;
  }
  const Block& block = program.block_of(op);
  for (const View& view : program.views_of(op)) {
    const Bytes bytes(bytes_of(program.buffer(block, view).type, touched_count(program, op, view)));
    if (view.access != Access::write) work.read += bytes;
    if (view.access != Access::read) work.written += bytes;
  }
  return work;
}

namespace {

bool carries_message(OpKind kind, const View& view) {
  if (view.role == Role::release) return false;
  if (kind == OpKind::all_reduce || kind == OpKind::broadcast || kind == OpKind::all_gather ||
      kind == OpKind::recv)
    return view.role == Role::y;
  if (kind == OpKind::input) return view.access != Access::read;
  return view.role == Role::x;  // reduce_scatter, all_to_all, send, copies
}

}  // namespace

std::int64_t payload_bytes(std::int64_t columns, const KernelShape& shape) {
  return (columns * shape.n + 7) / 8 + (columns + shape.k - 1) / shape.k * size_of(DataType::fp32);
}

Bytes message_bytes(const Program& program, const Op& op) {
  CHECK(is_communication(op.kind) || is_copy(op.kind), name(op.kind));
  const Block& block = program.block_of(op);
  std::int64_t bytes = 0, received = 0;
  for (const View& view : program.views_of(op)) {
    if (carries_message(op.kind, view)) bytes += bytes_of(program, block, view);
    if (view.role == Role::y) received += bytes_of(program, block, view);
  }
  // Of an exchange whose sides differ in size, the larger one: it takes as long.
  return Bytes(op.kind == OpKind::all_to_all ? std::max(bytes, received) : bytes);
}

}  // namespace orrery::schedule
