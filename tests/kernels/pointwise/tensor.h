// Small matrices for kernel tests: any element type, rows further apart than they are long, and guard
// elements between them that a kernel must leave alone. Values are drawn from a seed. Also central
// differences for gradients.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

#include "kernels/float_types.h"
#include "kernels/matrix.h"
#include "kernels/random.h"

namespace orrery::kernels {

template <typename T>
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::int64_t rows, std::int64_t columns, std::int64_t gap = 0)
      : rows_(rows),
        columns_(columns),
        gap_(gap),
        data_(static_cast<std::size_t>(rows * (columns + gap) + kBehind)) {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(data_.size()); ++i)
      if (is_guard(i))
        std::memset(static_cast<void*>(&data_[static_cast<std::size_t>(i)]), kGuard, sizeof(T));
  }

  // Uniform in [-range, range).
  static Tensor random(std::int64_t rows, std::int64_t columns, std::uint64_t seed, double range = 2.0,
                       std::int64_t gap = 0) {
    Tensor t(rows, columns, gap);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        t.set(r, c, range * (draw(seed, static_cast<std::uint64_t>(r * columns + c)) * 0x1.0p-31 - 1.0));
    return t;
  }

  Matrix<T> view() { return {data_.data(), rows_, columns_, columns_ + gap_}; }
  In<T> in() { return view(); }
  Out<T> write() { return {view(), false}; }
  Out<T> add() { return {view(), true}; }

  T& at(std::int64_t r, std::int64_t c) { return data_[static_cast<std::size_t>(r * (columns_ + gap_) + c)]; }
  double value(std::int64_t r, std::int64_t c) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<double>(at(r, c));
    else
      return static_cast<double>(widen(at(r, c)));
  }
  void set(std::int64_t r, std::int64_t c, double value) {
    if constexpr (std::is_integral_v<T>)
      at(r, c) = static_cast<T>(value);
    else
      at(r, c) = narrow<T>(static_cast<Wide<T>>(value));
  }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }

  bool guards_are_whole() const {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(data_.size()); ++i) {
      if (!is_guard(i)) continue;
      unsigned char bytes[sizeof(T)];
      std::memcpy(bytes, &data_[static_cast<std::size_t>(i)], sizeof(T));
      for (const unsigned char b : bytes)
        if (b != kGuard) return false;
    }
    return true;
  }

 private:
  static constexpr int kGuard = 0x5a;
  static constexpr std::int64_t kBehind = 9;
  bool is_guard(std::int64_t i) const {
    return i >= rows_ * (columns_ + gap_) || i % (columns_ + gap_) >= columns_;
  }
  std::int64_t rows_ = 0, columns_ = 0, gap_ = 0;
  std::vector<T> data_;
};

// What rounding to T alone may cost, relative, with room for a few operations in Wide<T>.
template <typename T>
constexpr double rounding() {
  if (std::is_same_v<T, double>) return 1e-14;
  if (std::is_same_v<T, float>) return 1e-6;
  return std::is_same_v<T, bf16> ? 0x1.0p-8 : 0x1.0p-10;
}

// Equal up to `tolerance` of each element, and of 1 where that is larger; guards untouched.
template <typename T>
void expect_near(Tensor<T>& actual, Tensor<T>& expected, double tolerance) {
  ASSERT_EQ(actual.rows(), expected.rows());
  ASSERT_EQ(actual.columns(), expected.columns());
  for (std::int64_t r = 0; r < actual.rows(); ++r)
    for (std::int64_t c = 0; c < actual.columns(); ++c) {
      const double e = expected.value(r, c);
      ASSERT_NEAR(actual.value(r, c), e, tolerance * std::max(1.0, std::abs(e)))
          << "row " << r << " column " << c;
    }
  EXPECT_TRUE(actual.guards_are_whole());
}

template <typename T>
void expect_same_bits(Tensor<T>& actual, Tensor<T>& expected) {
  ASSERT_EQ(actual.rows(), expected.rows());
  ASSERT_EQ(actual.columns(), expected.columns());
  for (std::int64_t r = 0; r < actual.rows(); ++r)
    ASSERT_EQ(std::memcmp(&actual.at(r, 0), &expected.at(r, 0),
                          static_cast<std::size_t>(actual.columns()) * sizeof(T)),
              0)
        << "row " << r;
  EXPECT_TRUE(actual.guards_are_whole());
}

inline double dot(Tensor<double>& a, Tensor<double>& b) {
  double sum = 0.0;
  for (std::int64_t r = 0; r < a.rows(); ++r)
    for (std::int64_t c = 0; c < a.columns(); ++c) sum += a.at(r, c) * b.at(r, c);
  return sum;
}

// `gradient` is d loss / d x for every element of x, where loss() reads x.
inline void expect_gradient(Tensor<double>& x, Tensor<double>& gradient,
                            const std::function<double()>& loss) {
  constexpr double kStep = 1e-5, kTolerance = 1e-8;
  for (std::int64_t r = 0; r < x.rows(); ++r)
    for (std::int64_t c = 0; c < x.columns(); ++c) {
      const double old = x.at(r, c);
      x.at(r, c) = old + kStep;
      const double above = loss();
      x.at(r, c) = old - kStep;
      const double below = loss();
      x.at(r, c) = old;
      const double numeric = (above - below) / (2.0 * kStep);
      EXPECT_NEAR(gradient.at(r, c), numeric, kTolerance * (1.0 + std::abs(numeric))) << r << ", " << c;
    }
}

// Element type and gradient type of the kernels that exist.
template <typename TT, typename GG>
struct Types {
  using T = TT;
  using G = GG;
};
using ElementTypes = ::testing::Types<double, float, bf16, fp16>;
using GradientTypes = ::testing::Types<Types<double, double>, Types<float, float>, Types<bf16, bf16>,
                                       Types<bf16, float>, Types<fp16, fp16>, Types<fp16, float>>;

}  // namespace orrery::kernels
