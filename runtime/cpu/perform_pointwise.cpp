// What goes element by element: fills, casts, copies, activations, dropout, residuals.
#include "kernels/cpu/pointwise/activation.h"
#include "kernels/cpu/pointwise/copy.h"
#include "kernels/cpu/pointwise/dropout.h"
#include "runtime/cpu/perform.h"

namespace orrery::runtime {
namespace {

kernels::Activation activation_of(const Operands& o) {
  switch (o.shape().activation) {
    case schedule::Activation::gelu: return kernels::Activation::gelu;
    case schedule::Activation::relu: return kernels::Activation::relu;
    case schedule::Activation::squared_relu: return kernels::Activation::squared_relu;
    case schedule::Activation::swiglu: return kernels::Activation::swiglu;
    case schedule::Activation::geglu: return kernels::Activation::geglu;
  }
  return kernels::Activation::gelu;
}

void fill(const Operands& o) {
  for (int i = 0; i < o.count(); ++i) {
    if (o.view(i).count() == 0) continue;
    if (o.type_at(i) == Element::int32) kernels::fill<std::int32_t>(o.place<std::int32_t>(i));
    else if (o.type_at(i) == Element::byte) kernels::fill<std::uint8_t>(o.place<std::uint8_t>(i));
    else with_float(o.type_at(i), [&](auto t) { kernels::fill<typename decltype(t)::Type>(o.place<typename decltype(t)::Type>(i)); });
  }
}

void copy(const Operands& o, int x, int y, bool adds) {
  if (o.type_at(x) == Element::int32)
    return kernels::cast<std::int32_t, std::int32_t>(o.place<std::int32_t>(x), {o.place<std::int32_t>(y), false});
  if (o.type_at(x) == Element::byte)
    return kernels::cast<std::uint8_t, std::uint8_t>(o.place<std::uint8_t>(x), {o.place<std::uint8_t>(y), false});
  with_float(o.type_at(x), [&](auto from) {
    with_float(o.type_at(y), [&](auto to) {
      using From = typename decltype(from)::Type;
      using To = typename decltype(to)::Type;
      kernels::cast<From, To>(o.place<From>(x), {o.place<To>(y), adds});
    });
  });
}

// Pairs of x and y in order.
void copy_all(const Operands& o, bool adds) {
  for (int x = o.find(Role::x), y = o.find(Role::y); x >= 0; x = o.find(Role::x, x + 1), y = o.find(Role::y, y + 1)) {
    CHECK(y >= 0, "x and y do not come in pairs");
    copy(o, x, y, adds || o.access(y) == Access::update);
  }
}

// Column block i of the wide side is block i of rows of the high one.
void cut_columns(const Operands& o) {
  const bool splits = o.call().op().op->kind == OpKind::split_columns;
  with_float(o.type(Role::x), [&](auto t) {
    using T = typename decltype(t)::Type;
    const Matrix<T> x = o.place<T>(Role::x), y = o.place<T>(Role::y);
    const Matrix<T>&wide = splits ? x : y, &high = splits ? y : x;
    for (std::int64_t i = 0; i < o.shape().n; ++i) {
      const Matrix<T> columns{wide.data + i * high.columns, wide.rows, high.columns, wide.stride};
      const Matrix<T> rows = rows_of(high, i * wide.rows, wide.rows);
      kernels::cast<T, T>(splits ? columns : rows, {splits ? rows : columns, false});
    }
  });
}

// Of rows of hidden states that begin with this row of the microbatch, or of attention probabilities.
kernels::Dropout dropout_of(const PerformContext& c, std::int64_t first_row, std::int64_t columns) {
  kernels::Dropout d;
  const schedule::KernelShape& s = c.operands.shape();
  d.probability = s.dropout;
  if (d.probability <= 0.0) return d;
  d.keys = c.placement.dropout_keys();
  d.batch = c.job.batch;
  d.total_columns = columns;
  if (s.heads > 0) {  // attention probabilities
    d.heads = s.heads;
    d.first_head = c.placement.shard_index() * s.heads;
    d.queries = d.total_columns = s.sequence;
  } else {
    d.first_row = first_row;
  }
  return d;
}

void dropout(const PerformContext& c, bool forward) {
  const Operands& o = c.operands;
  with_float(o.type(forward ? Role::x : Role::dy), [&](auto t) {
    using T = typename decltype(t)::Type;
    auto mask = o.place<std::uint8_t>(Role::mask);
    if (!forward)
      return kernels::dropout_backward<T>(o.shape().dropout, o.in<T>(Role::dy), mask, o.out<T>(Role::dx));
    auto x = o.in<T>(Role::x);
    auto y = o.out<T>(Role::y);
    if (o.shape().heads > 0) {  // rows of keys, whatever shape the views have
      const std::int64_t s = o.shape().sequence;
      x = {x.data, x.count() / s, s, s};
      y.view = {y.view.data, y.view.count() / s, s, s};
      mask = {mask.data, mask.count() / s, s, s};
      return kernels::dropout_forward<T>(dropout_of(c, 0, x.columns), x, y, mask);
    }
    for (const Placement::RowRun& run : c.placement.row_runs(x.rows))
      kernels::dropout_forward<T>(dropout_of(c, run.of_microbatch, x.columns), rows_of(x, run.row, run.count),
                                  rows_of(y, run.row, run.count), rows_of(mask, run.row, run.count));
  });
}

void bias_dropout_add(const PerformContext& c, bool forward) {
  const Operands& o = c.operands;
  if (forward)
    return with_float(o.type(Role::x), [&](auto t) {
      using T = typename decltype(t)::Type;
      const auto x = o.in<T>(Role::x);
      const auto part = [&](std::int64_t row, std::int64_t count, std::int64_t of_microbatch) {
        kernels::bias_dropout_add_forward<T>(
            dropout_of(c, of_microbatch, x.columns), rows_of(x, row, count), o.row<T>(Role::bias),
            rows_of(o.in<T>(Role::residual), row, count), rows_of(o.out<T>(Role::y), row, count),
            rows_of(o.place<std::uint8_t>(Role::mask), row, count));
      };
      if (o.shape().dropout <= 0.0) return part(0, x.rows, 0);
      for (const Placement::RowRun& run : c.placement.row_runs(x.rows)) part(run.row, run.count, run.of_microbatch);
    });
  const Element gradient = o.has(Role::dbias) ? o.type(Role::dbias) : o.type(Role::dy);
  with_gradient(o.type(Role::dy), gradient, [&](auto t, auto g) {
    using T = typename decltype(t)::Type;
    using G = typename decltype(g)::Type;
    kernels::bias_dropout_add_backward<T, G>(o.shape().dropout, o.in<T>(Role::dy), o.place<std::uint8_t>(Role::mask),
                                             o.out<T>(Role::dx), o.out<G>(Role::dbias));
  });
}

void activation(const PerformContext& c, bool forward) {
  const Operands& o = c.operands;
  if (forward)
    return with_float(o.type(Role::x), [&](auto t) {
      using T = typename decltype(t)::Type;
      kernels::activation_forward<T>(activation_of(o), o.in<T>(Role::x), o.row<T>(Role::bias), o.out<T>(Role::y));
    });
  const Element gradient = o.has(Role::dbias) ? o.type(Role::dbias) : o.type(Role::dy);
  with_gradient(o.type(Role::dy), gradient, [&](auto t, auto g) {
    using T = typename decltype(t)::Type;
    using G = typename decltype(g)::Type;
    kernels::activation_backward<T, G>(activation_of(o), o.in<T>(Role::dy), o.in<T>(Role::x), o.row<T>(Role::bias),
                                       o.out<T>(Role::dx), o.out<G>(Role::dbias));
  });
}

}  // namespace

bool perform_pointwise(const PerformContext& c) {
  const Operands& o = c.operands;
  const OpKind kind = o.call().op().op->kind;
  if (kind == OpKind::fill) fill(o);
  else if (kind == OpKind::add) copy_all(o, true);
  else if (kind == OpKind::cast || kind == OpKind::copy_to_host || kind == OpKind::copy_to_device) copy_all(o, false);
  else if (kind == OpKind::split_columns || kind == OpKind::join_columns) cut_columns(o);
  else if (kind == OpKind::activation_forward || kind == OpKind::activation_backward)
    activation(c, kind == OpKind::activation_forward);
  else if (kind == OpKind::dropout_forward || kind == OpKind::dropout_backward)
    dropout(c, kind == OpKind::dropout_forward);
  else if (kind == OpKind::bias_dropout_add_forward || kind == OpKind::bias_dropout_add_backward)
    bias_dropout_add(c, kind == OpKind::bias_dropout_add_forward);
  else return false;
  return true;
}

}  // namespace orrery::runtime
