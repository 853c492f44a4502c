#include "schedule/compile/tensor_parallel.h"

#include <vector>

#include "base/check.h"

namespace orrery::schedule {

namespace {

Tensor chunk_of(Tensor t, std::int64_t i, std::int64_t n) {
  CHECK(t.rows % n == 0, t.rows, n);
  return rows_of(t, i * (t.rows / n), t.rows / n);
}

// Every chunk of the full rows from the same chunk of each rank's, or the other way round, as one call.
std::vector<Operand> chunk_pairs(const Stage& s, Tensor x, Tensor y) {
  std::vector<Operand> views;
  for (std::int64_t i = 0; i < s.row_chunks(); ++i) {
    views.push_back(in(Role::x, chunk_of(x, i, s.row_chunks())));
    views.push_back(out(Role::y, chunk_of(y, i, s.row_chunks())));
  }
  return views;
}

void multiply(BlockBuilder& b, Tensor x, const Product& p, Tensor y) {
  if (p.backward)
    b.add(OpKind::gemm, {in(Role::dy, x), in(Role::w, p.w), out(Role::dx, y)}, input_gradient_gemm(x, p.w));
  else
    b.add(OpKind::gemm, {in(Role::x, x), in(Role::w, p.w), in(Role::bias, p.bias), out(Role::y, y)},
          forward_gemm(x, p.w));
}

}  // namespace

Gathered gather_in_chunks(Stage& s, BlockBuilder& b, Tensor local, const std::string& name) {
  if (!s.sequence_parallel() || s.row_chunks() == 1 || s.joined)
    return {gather_rows(s, b, local, name)};
  return {workspace(s, b, name, s.activation_type, s.z.tokens, local.columns), local};
}

Tensor column_parallel(Stage& s, BlockBuilder& b, const Gathered& x, const Product& product, Tensor y) {
  if (!x.local.exists()) {
    multiply(b, x.full, product, y);
    return x.full;
  }
  // What is gathered was computed before. Where that was in another block, the first chunk, beside which there is nothing to
  // compute, goes on the compute stream, and the second waits for it.
  const std::int64_t n = s.row_chunks();
  const bool begins = !b.has_compute();
  for (std::int64_t i = 0; i < n; ++i) {
    const Tensor full = chunk_of(x.full, i, n);
    b.add(OpKind::all_gather, {in(Role::x, chunk_of(x.local, i, n)), out(Role::y, full)}).group(kTensor);
    if (begins && i == 0) {
      b.record(full.formal);
    } else {
      b.on(Stream::tensor);
      if (i == 0) b.behind_compute();
      if (begins && i == 1) b.wait(full.formal);
    }
    multiply(b, full, product, chunk_of(y, i, n));
  }
  return x.full;
}

Tensor row_parallel(Stage& s, BlockBuilder& b, Tensor x, Tensor w, Tensor partial, const std::string& reduced) {
  const std::int64_t n = s.joined ? 1 : s.row_chunks();  // beside another block's products there is no need to cut one's own
  if (n == 1) {
    multiply(b, x, {w}, partial);
    return reduce_rows(s, b, partial, reduced);
  }
  const bool scatters = s.sequence_parallel();
  const Tensor target =
      scatters ? workspace(s, b, reduced, s.activation_type, s.z.local_tokens, partial.columns) : partial;
  for (std::int64_t i = 0; i < n; ++i) {
    const Tensor part = chunk_of(partial, i, n);
    multiply(b, chunk_of(x, i, n), {w}, part);
    if (scatters)
      b.add(OpKind::reduce_scatter, {in(Role::x, part), out(Role::y, chunk_of(target, i, n))});
    else
      b.add(OpKind::all_reduce, {accumulate(Role::y, part)});
    b.on(Stream::tensor).group(kTensor);
  }
  return target;
}

Tensor gather_rows(Stage& s, BlockBuilder& b, Tensor local, const std::string& name, Stream stream) {
  if (!s.sequence_parallel()) return local;
  const Tensor full = workspace(s, b, name, s.activation_type, s.z.tokens, local.columns);
  gather_rows_into(s, b, local, full, stream);
  may_cut(s, b);
  return full;
}

void gather_rows_into(Stage& s, BlockBuilder& b, Tensor local, Tensor full, Stream stream) {
  stream = collective_stream(s, b, stream);
  b.add(OpKind::all_gather, chunk_pairs(s, local, full)).on(stream).group(kTensor).behind_compute();
}

void scatter_rows(Stage& s, BlockBuilder& b, Tensor partial, Tensor local, Stream stream) {
  b.add(OpKind::reduce_scatter, chunk_pairs(s, partial, local)).on(stream).group(kTensor);
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
  scatter_rows(s, b, partial, local, stream);
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
