#include "tests/interpreter/perform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tests/interpreter/kernels_elementwise.h"
#include "tests/interpreter/kernels_embedding.h"
#include "tests/interpreter/kernels_linear.h"
#include "tests/interpreter/kernels_loss.h"
#include "tests/interpreter/kernels_norm.h"
#include "tests/interpreter/kernels_quantise.h"
#include "tests/interpreter/perform_attention.h"
#include "tests/interpreter/perform_experts.h"
#include "tests/interpreter/perform_optimizer.h"

namespace orrery::interpreter {
namespace {

using schedule::OpKind;
using schedule::Role;

void expect_gemm_shape(const OpContext& c, std::int64_t m, std::int64_t n, std::int64_t k) {
  const schedule::KernelShape& s = c.shape();
  if (s.m != m || s.n != n || s.k != k)
    throw ScheduleError(fmt::format("the shape says m n k = {} {} {}, the views {} {} {}", s.m, s.n, s.k, m, n, k));
}

void gemm(const OpContext& c) {
  switch (c.shape().layout) {
    case schedule::Layout::tn: {
      const ConstView x = c.in(Role::x), w = c.in(Role::w);
      expect_gemm_shape(c, x.rows, w.rows, x.columns);
      return gemm_forward(x, w, c.maybe_in(Role::bias), c.out(Role::y));
    }
    case schedule::Layout::nn: {
      const ConstView dy = c.in(Role::dy), w = c.in(Role::w);
      expect_gemm_shape(c, dy.rows, w.columns, dy.columns);
      return gemm_input_gradient(dy, w, c.out(Role::dx));
    }
    case schedule::Layout::nt: {
      const ConstView dy = c.in(Role::dy), x = c.in(Role::x);
      expect_gemm_shape(c, dy.columns, x.columns, dy.rows);
      return gemm_weight_gradient(dy, x, c.out(Role::dw));
    }
  }
}

void input(const OpContext& c) {
  const Job& job = c.job();
  const auto write = [&](Role role, std::int64_t ahead) {
    const OptionalOutput out = c.maybe_out(role);
    if (!out) return;
    if (out->view.count() != job.batch.batch * job.batch.sequence || job.vocab <= 0)
      throw ScheduleError(fmt::format("input of {} rows, a microbatch has {} x {} tokens of a vocabulary of {}",
                                      out->view.count(), job.batch.batch, job.batch.sequence, job.vocab));
    const std::vector<std::int64_t> rows = c.rows_of_microbatch(out->view.count());
    for (std::int64_t r = 0; r < out->view.count(); ++r) {
      const std::int64_t row = rows[static_cast<std::size_t>(r)];
      const std::int64_t sequence = c.first_sequence() + row % job.batch.batch;
      const std::int64_t position = row / job.batch.batch + ahead;
      const auto value = token({c.schedule().hyper.seed, c.issued().step, sequence, position}, job.vocab);
      out->put(r, static_cast<double>(value));
    }
  };
  write(Role::tokens, 0);
  write(Role::labels, 1);
}

void absmax(const OpContext& c) {
  const ConstView x = c.in(Role::x);
  double largest = 0.0;
  for (std::int64_t i = 0; i < x.count(); ++i) largest = std::max(largest, std::abs(x[i]));
  c.out(Role::y).put(0, largest);
}

void copy_all(const OpContext& c) {
  const auto x = c.inputs(Role::x);
  const auto y = c.outputs(Role::y);
  if (x.size() == 1 && c.op().kind == OpKind::cast) {
    for (const Output& each : y) copy(x[0], each);
    return;
  }
  if (x.size() != y.size() || x.empty()) throw ScheduleError("x and y do not come in pairs");
  for (std::size_t i = 0; i < x.size(); ++i) copy(x[i], y[i]);
}

// Column block i of the wide side is block i of rows of the high one.
void cut_columns(const OpContext& c) {
  const bool splits = c.op().kind == OpKind::split_columns;
  const ConstView x = c.in(Role::x);
  const Output y = c.out(Role::y);
  const std::int64_t blocks = c.shape().n, rows = splits ? x.rows : y.view.rows, columns = splits ? y.view.columns : x.columns;
  for (std::int64_t i = 0; i < blocks; ++i)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t k = 0; k < columns; ++k)
        if (splits) y.put(i * rows + r, k, x.at(r, i * columns + k));
        else y.put(r, i * columns + k, x.at(i * rows + r, k));
}

void embed(const OpContext& c, bool forward) {
  const std::int64_t rows = forward ? c.in(Role::w).rows : c.out(Role::dw).view.rows;
  const std::int64_t first = c.op().group == schedule::kNoGroup ? 0 : c.shard_index() * rows;
  if (forward) return embedding_forward(c.in(Role::tokens), c.in(Role::w), first, c.out(Role::y));
  embedding_backward(c.in(Role::tokens), c.in(Role::dy), first, c.out(Role::dw));
}

void position(const OpContext& c, bool forward) {
  const std::int64_t rows = forward ? c.in_place(Role::y).rows : c.in(Role::dy).rows;
  const Positions positions{c.job().batch.batch, c.rows_of_microbatch(rows)};
  if (forward) return position_forward(c.in(Role::w), positions, c.in_place(Role::y));
  position_backward(c.in(Role::dy), positions, c.out(Role::dw));
}

VocabularyBlock vocabulary(const OpContext& c) {
  const ConstView x = c.in(Role::x);
  return {x, c.in(Role::labels), c.op().group == schedule::kNoGroup ? 0 : c.shard_index() * x.columns};
}

double loss(const OpContext& c) {
  const TensorView stats = c.in_place(Role::stats);
  const double value = cross_entropy_loss(stats, c.shape().scale);
  if (const OptionalOutput total = c.maybe_out(Role::loss)) total->put(0, value);
  return value;
}

void bias_dropout_add(const OpContext& c, bool forward) {
  if (!forward) {
    const ConstView dy = c.in(Role::dy);
    return bias_dropout_add_backward(c.dropout(dy.rows, dy.columns), dy, c.maybe_in(Role::mask),
                                     c.maybe_out(Role::dx), c.maybe_out(Role::dbias));
  }
  const ConstView x = c.in(Role::x);
  bias_dropout_add_forward(c.dropout(x.rows, x.columns), {x, c.maybe_in(Role::residual), c.maybe_in(Role::bias)},
                           c.out(Role::y), c.maybe_out(Role::mask));
}

void norm_gradients(const OpContext& c) {
  norm_backward(c.shape().norm, c.in(Role::dy), c.in(Role::x), c.in(Role::w),
                {c.out(Role::dx), c.out(Role::dw), c.maybe_out(Role::dbias)});
}

void quantise_or_not(const OpContext& c, bool packs) {
  const QuantiseFormat format{c.shape().k, static_cast<int>(c.shape().n)};
  if (!packs) return dequantise(c.in(Role::x), format, c.out(Role::y));
  const auto x = c.inputs(Role::x);
  const auto y = c.outputs(Role::y);
  if (x.size() != y.size() || x.empty()) throw ScheduleError("x and y do not come in pairs");
  for (std::size_t i = 0; i < x.size(); ++i) quantise(x[i], format, y[i].view);
}

// The kinds that are neither attention, nor optimizer, nor communication.
bool perform_simple(const OpContext& c) {
  const OpKind kind = c.op().kind;
  const auto activation = c.shape().activation;
  if (kind == OpKind::fill)
    for (const Output& y : c.all_outputs()) fill(0.0, y.view);
  else if (kind == OpKind::split_columns || kind == OpKind::join_columns) cut_columns(c);
  else if (kind == OpKind::add) copy(c.in(Role::x), {c.in_place(Role::y), true});
  else if (kind == OpKind::absmax) absmax(c);
  else if (kind == OpKind::cast || kind == OpKind::copy_to_host || kind == OpKind::copy_to_device) copy_all(c);
  else if (kind == OpKind::input) input(c);
  else if (kind == OpKind::gemm) gemm(c);
  else if (kind == OpKind::bias_backward) bias_backward(c.in(Role::dy), c.out(Role::dbias));
  else if (kind == OpKind::embedding_forward || kind == OpKind::embedding_backward)
    embed(c, kind == OpKind::embedding_forward);
  else if (kind == OpKind::position_forward || kind == OpKind::position_backward)
    position(c, kind == OpKind::position_forward);
  else if (kind == OpKind::norm_forward)
    norm_forward(c.shape().norm, c.in(Role::x), c.in(Role::w), c.maybe_in(Role::bias), c.out(Role::y));
  else if (kind == OpKind::norm_backward) norm_gradients(c);
  else if (kind == OpKind::head_norm_forward) head_norm_forward(c.in(Role::x), c.in(Role::w), c.out(Role::y));
  else if (kind == OpKind::head_norm_backward)
    head_norm_backward(c.in(Role::dy), c.in(Role::x), c.in(Role::w), c.out(Role::dx), c.out(Role::dw));
  else if (kind == OpKind::activation_forward)
    activation_forward(activation, c.in(Role::x), c.maybe_in(Role::bias), c.out(Role::y));
  else if (kind == OpKind::activation_backward)
    activation_backward(activation, c.in(Role::dy), c.in(Role::x), c.maybe_in(Role::bias), c.out(Role::dx),
                        c.maybe_out(Role::dbias));
  else if (kind == OpKind::bias_dropout_add_forward || kind == OpKind::bias_dropout_add_backward)
    bias_dropout_add(c, kind == OpKind::bias_dropout_add_forward);
  else if (kind == OpKind::cross_entropy_max) cross_entropy_max(c.in(Role::x), c.out(Role::stats).view);
  else if (kind == OpKind::cross_entropy_sum) cross_entropy_sum(vocabulary(c), c.out(Role::stats).view);
  else if (kind == OpKind::cross_entropy_backward)
    cross_entropy_backward(vocabulary(c), c.in(Role::stats), c.shape().scale, c.out(Role::dx));
  else if (kind == OpKind::quantise || kind == OpKind::dequantise) quantise_or_not(c, kind == OpKind::quantise);
  else return kind == OpKind::host_wait;
  return true;
}

}  // namespace

double perform(const OpContext& c) {
  if (c.op().kind == OpKind::cross_entropy_loss) return loss(c);
  if (!perform_simple(c) && !perform_attention(c) && !perform_experts(c) && !perform_optimizer(c))
    throw ScheduleError("the interpreter does not know this kind of op here");
  return 0.0;
}

}  // namespace orrery::interpreter
