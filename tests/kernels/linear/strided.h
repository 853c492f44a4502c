// A matrix as kernels meet it, a part of a wider one: behind each row lies a gap that no kernel may read into
// a result or write. Gaps hold NaN, so that reading one shows, and are compared bit for bit, so that writing
// one shows.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

template <typename T>
struct Strided {
  std::int64_t rows, columns, stride;
  std::vector<T> elements;

  explicit Strided(std::int64_t row_count, std::int64_t column_count, std::int64_t gap = 3)
      : rows(row_count),
        columns(column_count),
        stride(column_count + gap),
        elements(static_cast<std::size_t>(row_count * stride),
                 static_cast<T>(std::numeric_limits<float>::quiet_NaN())) {}

  Matrix<T> view() { return {elements.data(), rows, columns, stride}; }
  In<T> in() const { return {elements.data(), rows, columns, stride}; }
  Out<T> write() { return {view(), false}; }
  Out<T> update() { return {view(), true}; }
  Out<T> out(bool adds) { return {view(), adds}; }
  double at(std::int64_t r, std::int64_t c) const { return static_cast<double>(widen(in().at(r, c))); }
  void put(std::int64_t r, std::int64_t c, double value) {
    view().at(r, c) = narrow<T>(static_cast<Wide<T>>(value));
  }
};

// Multiples of 1/8 from -1/2 to 1/2: sums of a few thousand products of two of them are exact in fp32, in any
// order.
template <typename T>
Strided<T> eighths(std::int64_t rows, std::int64_t columns, std::mt19937& random) {
  Strided<T> m(rows, columns);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) m.put(r, c, (static_cast<double>(random() % 9) - 4.0) / 8.0);
  return m;
}

// Anything from -1 to 1.
template <typename T>
Strided<T> uniform(std::int64_t rows, std::int64_t columns, std::mt19937& random) {
  Strided<T> m(rows, columns);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) m.put(r, c, static_cast<double>(random()) / 0x1.0p31 - 1.0);
  return m;
}

// Bit for bit, gaps included.
template <typename T>
testing::AssertionResult same_bits(const Strided<T>& got, const Strided<T>& want) {
  if (got.elements.size() != want.elements.size()) return testing::AssertionFailure() << "other extents";
  for (std::size_t i = 0; i < got.elements.size(); ++i)
    if (std::memcmp(&got.elements[i], &want.elements[i], sizeof(T)) != 0) {
      const std::int64_t r = static_cast<std::int64_t>(i) / got.stride,
                         c = static_cast<std::int64_t>(i) % got.stride;
      return testing::AssertionFailure()
             << "at row " << r << ", column " << c << " of " << got.columns << ": got "
             << widen(got.elements[i]) << ", want " << widen(want.elements[i]);
    }
  return testing::AssertionSuccess();
}

// The largest difference, each relative to max(|want|, 1). NaN is infinite.
template <typename T>
double distance(const Strided<T>& got, const Strided<T>& want) {
  double largest = 0.0;
  for (std::int64_t r = 0; r < want.rows; ++r)
    for (std::int64_t c = 0; c < want.columns; ++c) {
      const double d = std::abs(got.at(r, c) - want.at(r, c)) / std::max(std::abs(want.at(r, c)), 1.0);
      largest = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(largest, d);
    }
  return largest;
}

// Half a unit in the last place of T, relative: what rounding to T alone may lose.
template <typename T>
constexpr double rounding() {
  if (std::is_same_v<T, bf16>) return 0x1.0p-8;
  if (std::is_same_v<T, fp16>) return 0x1.0p-11;
  return std::is_same_v<T, float> ? 0x1.0p-24 : 0x1.0p-53;
}

}  // namespace orrery::kernels
