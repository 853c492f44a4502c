// Sums over a row in 32 (of double 16) running parts, in a fixed order, and from them mean and 1 / sqrt(var + epsilon).
// The variance is the mean of squared deviations, a second pass over a row that is in the cache by then: the
// difference of mean(x^2) and mean^2 has no digits left in fp32 where the mean is large.
#pragma once

#include <cmath>

#include "kernels/convert.h"
#include "kernels/cpu/norm/norm.h"

namespace orrery::kernels {

// Sum of f(i), i in [0, count): `f` gives the lanes from i on, `f_one` a single one of the last few.
template <typename T, typename F, typename One>
ORRERY_ALWAYS_INLINE Wide<T> sum_row(std::int64_t count, const F& f, const One& f_one) {
  constexpr std::int64_t L = lane_count<T>;
  Lanes<T> parts[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * L <= count; i += 4 * L)
    for (std::int64_t p = 0; p < 4; ++p) parts[p] += f(i + p * L);
  for (; i + L <= count; i += L) parts[0] += f(i);
  Wide<T> rest = 0;
  for (; i < count; ++i) rest += f_one(i);
  return sum((parts[0] + parts[1]) + (parts[2] + parts[3])) + rest;
}

template <typename W>
struct RowStatistics {
  W mean, inverse;
};

template <Norm norm, typename T>
ORRERY_ALWAYS_INLINE RowStatistics<Wide<T>> row_statistics(const T* x, std::int64_t count) {
  using W = Wide<T>;
  const auto n = static_cast<W>(count);
  W mean = 0;
  if constexpr (norm == Norm::layer_norm)
    mean = sum_row<T>(count, [&](auto i) { return load(x + i); }, [&](auto i) { return widen(x[i]); }) / n;
  const auto square = [&](auto v) { return (v - mean) * (v - mean); };
  const W squares =
      sum_row<T>(count, [&](auto i) { return square(load(x + i)); }, [&](auto i) { return square(widen(x[i])); });
  return {mean, W{1} / std::sqrt(squares / n + static_cast<W>(kNormEpsilon))};
}

}  // namespace orrery::kernels
