// Small tensors and central differences, for tests that compare a backward kernel with its forward one.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.h"
#include "tests/interpreter/placement.h"
#include "tests/interpreter/tensor_view.h"

namespace orrery::interpreter {

inline Matrix random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Matrix m(rows, columns);
  const RandomStream stream({.seed = seed, .purpose = DrawPurpose::weight_init, .step = 0, .layer = 0, .microbatch = 0});
  for (std::size_t i = 0; i < m.values.size(); ++i) m.values[i] = stream.normal(i);
  return m;
}

inline TensorView view(Matrix& m) { return {m.values.data(), m.rows, m.columns, m.columns}; }
inline Output write_to(Matrix& m) { return {view(m), false}; }
inline Output add_to(Matrix& m) { return {view(m), true}; }

inline double dot(const Matrix& a, const Matrix& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.values.size(); ++i) sum += a.values[i] * b.values[i];
  return sum;
}

// `gradient` is d loss / d x for every element of x, where loss() reads x.
inline void expect_gradient(Matrix& x, const Matrix& gradient, const std::function<double()>& loss,
                            double tolerance = 1e-7) {
  ASSERT_EQ(x.values.size(), gradient.values.size());
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double old = x.values[i];
    x.values[i] = old + kStep;
    const double above = loss();
    x.values[i] = old - kStep;
    const double below = loss();
    x.values[i] = old;
    const double numeric = (above - below) / (2.0 * kStep);
    EXPECT_NEAR(gradient.values[i], numeric, tolerance * (1.0 + std::abs(numeric))) << "element " << i;
  }
}

}  // namespace orrery::interpreter
