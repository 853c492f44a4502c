// The pointwise kernels as plain loops in double, for tests: what each element is, with the library's exp and
// tanh.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

#include "kernels/cpu/pointwise/activation.h"
#include "kernels/cpu/pointwise/dropout.h"
#include "kernels/random.h"

namespace orrery::kernels::reference {

template <typename T>
double value_of(T x) {
  return static_cast<double>(widen(x));
}

template <typename T>
void put(const Out<T>& out, std::int64_t r, std::int64_t c, double value) {
  T& to = out.view.at(r, c);
  to = narrow<T>(static_cast<Wide<T>>(out.adds ? value_of(to) + value : value));
}

struct ValueAndSlope {
  double value, slope;
};

inline ValueAndSlope curve(Activation activation, double x) {
  if (activation == Activation::relu) return {std::max(x, 0.0), x > 0.0 ? 1.0 : 0.0};
  if (activation == Activation::squared_relu) return {x > 0.0 ? x * x : 0.0, x > 0.0 ? 2.0 * x : 0.0};
  if (activation == Activation::swiglu) {
    const double s = 1.0 / (1.0 + std::exp(-x));
    return {x * s, s * (1.0 + x * (1.0 - s))};
  }
  const double root = std::sqrt(2.0 / std::numbers::pi);
  const double t = std::tanh(root * (x + 0.044715 * x * x * x));
  const double du = root * (1.0 + 3.0 * 0.044715 * x * x);
  return {0.5 * x * (1.0 + t), 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * du};
}

// x plus its bias; a bias with fewer elements than x has columns belongs to the last ones.
template <typename T>
double biased(In<T> x, In<T> bias, std::int64_t r, std::int64_t c) {
  const std::int64_t i = bias.exists() ? c - (x.columns - bias.count()) : -1;
  return value_of(x.at(r, c)) + (i < 0 ? 0.0 : value_of(bias.data[i]));
}

template <typename T>
void activation_forward(Activation activation, In<T> x, In<T> bias, Out<T> y) {
  const std::int64_t f = y.view.columns;
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < f; ++c) {
      const double value = curve(activation, biased<T>(x, bias, r, c)).value;
      put(y, r, c, is_gated(activation) ? value * biased<T>(x, bias, r, f + c) : value);
    }
}

// Adds the sums of the last columns to dbias, or writes them.
template <typename G>
void put_sums(const std::vector<double>& sums, const Out<G>& dbias) {
  if (!dbias.exists()) return;
  const auto skipped = static_cast<std::int64_t>(sums.size()) - dbias.view.count();
  for (std::int64_t i = 0; i < dbias.view.count(); ++i) {
    const Out<G> element{{dbias.view.data + i, 1, 1, 1}, dbias.adds};
    put(element, 0, 0, sums[static_cast<std::size_t>(skipped + i)]);
  }
}

template <typename T, typename G>
void activation_backward(Activation activation, In<T> dy, In<T> x, In<T> bias, Out<T> dx, Out<G> dbias) {
  const std::int64_t f = dy.columns;
  std::vector<double> sums(static_cast<std::size_t>(x.columns));
  const auto write = [&](std::int64_t r, std::int64_t c, double value) {
    sums[static_cast<std::size_t>(c)] += value;
    put(dx, r, c, value);
  };
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < f; ++c) {
      const ValueAndSlope at = curve(activation, biased<T>(x, bias, r, c));
      const double up = is_gated(activation) ? biased<T>(x, bias, r, f + c) : 1.0;
      const double from = value_of(dy.at(r, c));
      write(r, c, from * at.slope * up);
      if (is_gated(activation)) write(r, f + c, from * at.value);
    }
  put_sums(sums, dbias);
}

inline bool keeps(const Dropout& dropout, std::int64_t r, std::int64_t c) {
  const Dropout::Draws draws = dropout.of_row(r);
  return draw(draws.key, static_cast<std::uint64_t>(draws.first_element + c)) >=
         drop_threshold(dropout.probability);
}

template <typename T>
void bias_dropout_add_forward(const Dropout& dropout, In<T> x, In<T> bias, In<T> residual, Out<T> y,
                              Matrix<std::uint8_t> mask) {
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < x.columns; ++c) {
      const bool kept = dropout.probability <= 0.0 || keeps(dropout, r, c);
      if (mask.exists()) mask.at(r, c) = kept ? 1 : 0;
      const double dropped = kept ? biased<T>(x, bias, r, c) * dropout.scale() : 0.0;
      put(y, r, c, (residual.exists() ? value_of(residual.at(r, c)) : 0.0) + dropped);
    }
}

template <typename T, typename G>
void bias_dropout_add_backward(double probability, In<T> dy, In<std::uint8_t> mask, Out<T> dx, Out<G> dbias) {
  std::vector<double> sums(static_cast<std::size_t>(dy.columns));
  for (std::int64_t r = 0; r < dy.rows; ++r)
    for (std::int64_t c = 0; c < dy.columns; ++c) {
      const double kept = mask.exists() ? mask.at(r, c) / (1.0 - probability) : 1.0;
      const double value = value_of(dy.at(r, c)) * kept;
      sums[static_cast<std::size_t>(c)] += value;
      if (dx.exists()) put(dx, r, c, value);
    }
  put_sums(sums, dbias);
}

}  // namespace orrery::kernels::reference
