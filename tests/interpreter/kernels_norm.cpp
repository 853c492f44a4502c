#include "tests/interpreter/kernels_norm.h"

#include <cmath>
#include <vector>

#include "base/check.h"

namespace orrery::interpreter {
namespace {

using schedule::Norm;

// A run of `n` elements of one row, beginning at column `first`.
struct Segment {
  std::int64_t row = 0, first = 0, n = 0;
};

struct Statistics {
  double mean = 0.0, inverse = 0.0;
};

Statistics statistics(Norm norm, ConstView x, Segment s) {
  const auto n = static_cast<double>(s.n);
  double mean = 0.0, square = 0.0;
  if (norm == Norm::layer_norm) {
    for (std::int64_t i = 0; i < s.n; ++i) mean += x.at(s.row, s.first + i);
    mean /= n;
  }
  for (std::int64_t i = 0; i < s.n; ++i) {
    const double centred = x.at(s.row, s.first + i) - mean;
    square += centred * centred;
  }
  return {mean, 1.0 / std::sqrt(square / n + kNormEpsilon)};
}

void forward(Norm norm, ConstView x, Segment s, ConstView w, const OptionalInput& bias, const Output& y) {
  const Statistics t = statistics(norm, x, s);
  for (std::int64_t i = 0; i < s.n; ++i) {
    const double normal = (x.at(s.row, s.first + i) - t.mean) * t.inverse;
    y.put(s.row, s.first + i, normal * w[i] + (bias ? (*bias)[i] : 0.0));
  }
}

// Adds to the column sums `dw`, `dbias`; returns through dx.
void backward(Norm norm, ConstView dy, ConstView x, Segment s, ConstView w, const Output& dx, std::vector<double>& dw,
              std::vector<double>& dbias) {
  const Statistics t = statistics(norm, x, s);
  const auto n = static_cast<std::size_t>(s.n);
  std::vector<double> normal(n), scaled(n);
  double mean = 0.0, correlation = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto c = s.first + static_cast<std::int64_t>(i);
    normal[i] = (x.at(s.row, c) - t.mean) * t.inverse;
    scaled[i] = dy.at(s.row, c) * w[static_cast<std::int64_t>(i)];
    dw[i] += dy.at(s.row, c) * normal[i];
    dbias[i] += dy.at(s.row, c);
    mean += scaled[i];
    correlation += scaled[i] * normal[i];
  }
  mean = norm == Norm::layer_norm ? mean / static_cast<double>(s.n) : 0.0;
  correlation /= static_cast<double>(s.n);
  for (std::size_t i = 0; i < n; ++i)
    dx.put(s.row, s.first + static_cast<std::int64_t>(i), (scaled[i] - mean - normal[i] * correlation) * t.inverse);
}

void put_all(const Output& out, const std::vector<double>& values) {
  CHECK(out.view.count() == static_cast<std::int64_t>(values.size()), out.view.count(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) out.put(static_cast<std::int64_t>(i), values[i]);
}

}  // namespace

void norm_forward(Norm norm, ConstView x, ConstView w, OptionalInput bias, Output y) {
  CHECK(w.count() == x.columns && y.view.rows == x.rows && y.view.columns == x.columns, w.count(), x.rows, x.columns);
  if (bias) CHECK(bias->count() == x.columns, bias->count(), x.columns);
  for (std::int64_t r = 0; r < x.rows; ++r) forward(norm, x, {r, 0, x.columns}, w, bias, y);
}

void norm_backward(Norm norm, ConstView dy, ConstView x, ConstView w, const NormGradients& gradients) {
  CHECK(dy.rows == x.rows && dy.columns == x.columns && w.count() == x.columns, dy.rows, x.rows, x.columns);
  std::vector<double> dw(static_cast<std::size_t>(x.columns)), dbias(dw.size());
  for (std::int64_t r = 0; r < x.rows; ++r) backward(norm, dy, x, {r, 0, x.columns}, w, gradients.dx, dw, dbias);
  put_all(gradients.dw, dw);
  if (gradients.dbias) put_all(*gradients.dbias, dbias);
}

void head_norm_forward(ConstView x, ConstView w, Output y) {
  const std::int64_t d = w.count();
  CHECK(x.columns % d == 0 && y.view.columns == x.columns && y.view.rows == x.rows, x.columns, d);
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < x.columns; c += d) forward(Norm::rms_norm, x, {r, c, d}, w, {}, y);
}

void head_norm_backward(ConstView dy, ConstView x, ConstView w, Output dx, Output dw) {
  const std::int64_t d = w.count();
  CHECK(x.columns % d == 0 && dy.columns == x.columns && dy.rows == x.rows, x.columns, d);
  std::vector<double> sums(static_cast<std::size_t>(d)), unused(sums.size());
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < x.columns; c += d) backward(Norm::rms_norm, dy, x, {r, c, d}, w, dx, sums, unused);
  put_all(dw, sums);
}

}  // namespace orrery::interpreter
