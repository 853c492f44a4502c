#include "tests/interpreter/kernels_elementwise.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "base/check.h"

namespace orrery::interpreter {
namespace {

using schedule::Activation;

struct ValueAndSlope {
  double value, slope;
};

ValueAndSlope gelu(double x) {
  const double root = std::sqrt(2.0 / std::numbers::pi);
  const double t = std::tanh(root * (x + 0.044715 * x * x * x));
  const double inner = root * (1.0 + 3.0 * 0.044715 * x * x);
  return {0.5 * x * (1.0 + t), 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * inner};
}

ValueAndSlope silu(double x) {
  const double sigmoid = 1.0 / (1.0 + std::exp(-x));
  return {x * sigmoid, sigmoid * (1.0 + x * (1.0 - sigmoid))};
}

ValueAndSlope curve(Activation activation, double x) {
  switch (activation) {
    case Activation::gelu:
    case Activation::geglu: return gelu(x);
    case Activation::swiglu: return silu(x);
    case Activation::relu: return {x > 0.0 ? x : 0.0, x > 0.0 ? 1.0 : 0.0};
    case Activation::squared_relu: return {x > 0.0 ? x * x : 0.0, x > 0.0 ? 2.0 * x : 0.0};
  }
  CHECK(false, static_cast<int>(activation));
}

bool gated(Activation activation) { return activation == Activation::swiglu || activation == Activation::geglu; }

// x plus its bias; a bias with fewer elements than x has columns belongs to the last ones.
double biased(ConstView x, const OptionalInput& bias, std::int64_t r, std::int64_t c) {
  if (!bias) return x.at(r, c);
  const std::int64_t i = c - (x.columns - bias->count());
  return i < 0 ? x.at(r, c) : x.at(r, c) + (*bias)[i];
}

// Column sums of what was written, for the last dbias.count() columns.
class BiasSums {
 public:
  BiasSums(OptionalOutput dbias, std::int64_t columns) : dbias_(dbias), sums_(static_cast<std::size_t>(columns)) {}
  void add(std::int64_t c, double value) { sums_[static_cast<std::size_t>(c)] += value; }
  void put() const {
    if (!dbias_) return;
    const auto skipped = static_cast<std::int64_t>(sums_.size()) - dbias_->view.count();
    CHECK(skipped >= 0, skipped);
    for (std::int64_t i = 0; i < dbias_->view.count(); ++i)
      dbias_->put(i, sums_[static_cast<std::size_t>(i + skipped)]);
  }

 private:
  OptionalOutput dbias_;
  std::vector<double> sums_;
};

}  // namespace

void fill(double value, TensorView y) {
  for (std::int64_t i = 0; i < y.count(); ++i) y[i] = value;
}

void copy(ConstView x, Output y) {
  CHECK(x.count() == y.view.count(), x.count(), y.view.count());
  for (std::int64_t i = 0; i < x.count(); ++i) y.put(i, x[i]);
}

void activation_forward(Activation activation, ConstView x, OptionalInput bias, Output y) {
  const std::int64_t f = y.view.columns;
  CHECK(x.rows == y.view.rows && x.columns == (gated(activation) ? 2 * f : f), x.rows, x.columns, f);
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < f; ++c) {
      const double value = curve(activation, biased(x, bias, r, c)).value;
      y.put(r, c, gated(activation) ? value * biased(x, bias, r, f + c) : value);
    }
}

void activation_backward(Activation activation, ConstView dy, ConstView x, OptionalInput bias, Output dx,
                         OptionalOutput dbias) {
  const std::int64_t f = dy.columns;
  CHECK(x.rows == dy.rows && x.columns == (gated(activation) ? 2 * f : f), x.rows, x.columns, f);
  BiasSums sums(dbias, x.columns);
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < f; ++c) {
      const ValueAndSlope at = curve(activation, biased(x, bias, r, c));
      const double up = gated(activation) ? biased(x, bias, r, f + c) : 1.0;
      const double from = dy.at(r, c);
      sums.add(c, from * at.slope * up);
      dx.put(r, c, from * at.slope * up);
      if (!gated(activation)) continue;
      sums.add(f + c, from * at.value);
      dx.put(r, f + c, from * at.value);
    }
  sums.put();
}

void dropout_forward(const Dropout& dropout, const ScoreLayout& layout, ConstView x, Output y, OptionalOutput mask) {
  CHECK(x.count() == y.view.count() && (mask || dropout.probability <= 0.0), x.count(), y.view.count());
  for (std::int64_t i = 0; i < x.count(); ++i) {
    bool kept = true;
    if (dropout.probability > 0.0 && layout.heads > 0) {
      const std::int64_t matrix = i / layout.square;
      kept = dropout.keeps_attention(matrix / layout.heads, layout.first_head + matrix % layout.heads,
                                     i % layout.square, layout.square);
    } else if (dropout.probability > 0.0) {
      kept = dropout.keeps_hidden(i / x.columns, i % x.columns);
    }
    if (mask) mask->put(i, kept ? 1.0 : 0.0);
    y.put(i, kept ? x[i] * dropout.scale() : 0.0);
  }
}

void dropout_backward(const Dropout& dropout, ConstView dy, ConstView mask, Output dx) {
  CHECK(dy.count() == mask.count() && dy.count() == dx.view.count(), dy.count(), mask.count(), dx.view.count());
  for (std::int64_t i = 0; i < dy.count(); ++i) dx.put(i, dy[i] * mask[i] * dropout.scale());
}

void bias_dropout_add_forward(const Dropout& dropout, const ResidualInput& in, Output y, OptionalOutput mask) {
  CHECK(in.x.count() == y.view.count(), in.x.count(), y.view.count());
  if (in.residual) CHECK(in.residual->count() == y.view.count(), in.residual->count(), y.view.count());
  CHECK(mask.has_value() == (dropout.probability > 0.0), dropout.probability);
  for (std::int64_t r = 0; r < in.x.rows; ++r)
    for (std::int64_t c = 0; c < in.x.columns; ++c) {
      const bool kept = !mask || dropout.keeps_hidden(r, c);
      if (mask) mask->put(r, c, kept ? 1.0 : 0.0);
      const double dropped = kept ? biased(in.x, in.bias, r, c) * dropout.scale() : 0.0;
      y.put(r, c, (in.residual ? in.residual->at(r, c) : 0.0) + dropped);
    }
}

void bias_dropout_add_backward(const Dropout& dropout, ConstView dy, OptionalInput mask, OptionalOutput dx,
                               OptionalOutput dbias) {
  CHECK(mask.has_value() == (dropout.probability > 0.0), dropout.probability);
  BiasSums sums(dbias, dy.columns);
  for (std::int64_t r = 0; r < dy.rows; ++r)
    for (std::int64_t c = 0; c < dy.columns; ++c) {
      const double value = dy.at(r, c) * (mask ? mask->at(r, c) * dropout.scale() : 1.0);
      sums.add(c, value);
      if (dx) dx->put(r, c, value);
    }
  sums.put();
}

}  // namespace orrery::interpreter
