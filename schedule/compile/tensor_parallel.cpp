#include "schedule/compile/tensor_parallel.h"

#include "base/check.h"

namespace orrery::schedule {

Tensor gather_rows(Stage& s, BlockBuilder& b, Tensor local, const std::string& name, Stream stream) {
  if (!s.sequence_parallel()) return local;
  const Tensor full = workspace(s, b, name, s.activation_type, s.z.tokens, local.columns);
  stream = collective_stream(s, b, stream);
  b.add(OpKind::all_gather, {in(Role::x, local), out(Role::y, full)})
      .on(stream)
      .group(kTensor)
      .behind_compute();
  may_cut(s, b);
  return full;
}

Tensor reduce_rows(Stage& s, BlockBuilder& b, Tensor partial, const std::string& name, Stream stream) {
  if (!s.tensor_parallel()) return partial;
  stream = collective_stream(s, b, stream);
  if (!s.sequence_parallel()) {
    b.add(OpKind::all_reduce, {accumulate(Role::y, partial)}).on(stream).group(kTensor);
    may_cut(s, b);
    return partial;
  }
  const Tensor local = workspace(s, b, name, s.activation_type, s.z.local_tokens, partial.columns);
  b.add(OpKind::reduce_scatter, {in(Role::x, partial), out(Role::y, local)})
      .on(stream)
      .group(kTensor);
  may_cut(s, b);
  return local;
}

Stream collective_stream(const Stage& s, const BlockBuilder& b, Stream alone) {
  return s.joined && b.has_compute() ? Stream::tensor : alone;
}

void may_cut(const Stage& s, BlockBuilder& b) {
  if (s.joined) b.cut();
}

Stream hidden_stream(const Stage& s) {
  return s.scenario.overlap.tensor_backward ? Stream::tensor : Stream::compute;
}

KernelShape forward_gemm(Tensor x, Tensor w) {
  CHECK(x.columns == w.columns, x.columns, w.columns);
  return {.m = x.rows, .n = w.rows, .k = w.columns, .layout = Layout::tn};
}
KernelShape input_gradient_gemm(Tensor dy, Tensor w) {
  CHECK(dy.columns == w.rows, dy.columns, w.rows);
  return {.m = dy.rows, .n = w.columns, .k = w.rows, .layout = Layout::nn};
}
KernelShape weight_gradient_gemm(Tensor dy, Tensor x) {
  CHECK(dy.rows == x.rows, dy.rows, x.rows);
  return {.m = dy.columns, .n = x.columns, .k = dy.rows, .layout = Layout::nt};
}

}  // namespace orrery::schedule
