// What the norms of norm.h mean: the formulas with plain loops, in double, for tests.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/cpu/norm/norm.h"

namespace orrery::kernels::reference {

// `length` elements of a row, from `column` on, that are normed together.
struct NormSegment {
  Norm norm;
  std::int64_t row, column, length;
};

inline std::vector<double> read_segment(const auto& from, std::int64_t row, std::int64_t column,
                                        std::int64_t length) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < length; ++i)
    values.push_back(static_cast<double>(widen(from.at(row, column + i))));
  return values;
}

template <typename T>
void write_element(const Out<T>& out, std::int64_t row, std::int64_t column, double value) {
  T& to = out.view.at(row, column);
  if (out.adds) value += static_cast<double>(widen(to));
  to = narrow<T>(static_cast<Wide<T>>(value));
}

inline double mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

// The normed elements, before w and bias; and 1 / sqrt(... + epsilon).
inline std::vector<double> normed(Norm norm, std::vector<double> x, double& inverse) {
  const double mean = norm == Norm::layer_norm ? mean_of(x) : 0.0;
  std::vector<double> squares;
  for (double& v : x) {
    v -= mean;
    squares.push_back(v * v);
  }
  inverse = 1.0 / std::sqrt(mean_of(squares) + kNormEpsilon);
  for (double& v : x) v *= inverse;
  return x;
}

template <typename T>
void forward_segment(const NormSegment& s, In<T> x, In<T> w, In<T> bias, Out<T> y) {
  double inverse = 0.0;
  const std::vector<double> n = normed(s.norm, read_segment(x, s.row, s.column, s.length), inverse);
  for (std::int64_t i = 0; i < s.length; ++i) {
    const double b = bias.exists() ? static_cast<double>(widen(bias.at(0, i))) : 0.0;
    write_element(y, s.row, s.column + i,
                  n[static_cast<std::size_t>(i)] * static_cast<double>(widen(w.at(0, i))) + b);
  }
}

template <typename T>
void backward_segment(const NormSegment& s, In<T> dy, In<T> x, In<T> w, Out<T> dx, std::vector<double>& dw,
                      std::vector<double>& dbias) {
  double inverse = 0.0;
  const std::vector<double> n = normed(s.norm, read_segment(x, s.row, s.column, s.length), inverse);
  const std::vector<double> d = read_segment(dy, s.row, s.column, s.length);
  std::vector<double> g, gn;
  for (std::size_t i = 0; i < n.size(); ++i) {
    g.push_back(d[i] * static_cast<double>(widen(w.at(0, static_cast<std::int64_t>(i)))));
    gn.push_back(g[i] * n[i]);
    dw[i] += d[i] * n[i];
    dbias[i] += d[i];
  }
  const double mean_g = s.norm == Norm::layer_norm ? mean_of(g) : 0.0;
  const double mean_gn = mean_of(gn);
  for (std::size_t i = 0; i < n.size(); ++i)
    write_element(dx, s.row, s.column + static_cast<std::int64_t>(i),
                  (g[i] - mean_g - n[i] * mean_gn) * inverse);
}

template <typename G>
void write_row(const Out<G>& out, const std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    write_element(out, 0, static_cast<std::int64_t>(i), values[i]);
}

template <typename T>
void norm_forward(Norm norm, In<T> x, In<T> w, In<T> bias, Out<T> y) {
  for (std::int64_t r = 0; r < x.rows; ++r) forward_segment({norm, r, 0, x.columns}, x, w, bias, y);
}

template <typename T, typename G>
void norm_backward(Norm norm, In<T> dy, In<T> x, In<T> w, const NormGradients<T, G>& gradients) {
  std::vector<double> dw(static_cast<std::size_t>(x.columns)), dbias(dw);
  for (std::int64_t r = 0; r < x.rows; ++r)
    backward_segment({norm, r, 0, x.columns}, dy, x, w, gradients.dx, dw, dbias);
  write_row(gradients.dw, dw);
  if (gradients.dbias.exists()) write_row(gradients.dbias, dbias);
}

template <typename T>
void head_norm_forward(In<T> x, In<T> w, Out<T> y) {
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < x.columns; c += w.columns)
      forward_segment({Norm::rms_norm, r, c, w.columns}, x, w, In<T>{}, y);
}

template <typename T, typename G>
void head_norm_backward(In<T> dy, In<T> x, In<T> w, Out<T> dx, Out<G> dw) {
  std::vector<double> sums(static_cast<std::size_t>(w.columns)), unused(sums);
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < x.columns; c += w.columns)
      backward_segment({Norm::rms_norm, r, c, w.columns}, dy, x, w, dx, sums, unused);
  write_row(dw, sums);
}

}  // namespace orrery::kernels::reference
