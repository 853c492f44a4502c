// Sums over a row in a few running parts, in a fixed order, and from them mean and 1 / sqrt(var + epsilon).
// The variance is the mean of squared deviations, a second pass over a row that is in the cache by then: the
// difference of mean(x^2) and mean^2 has no digits left in fp32 where the mean is large.
#pragma once

#include <cmath>

#include "kernels/convert.h"
#include "kernels/cpu/norm/norm.h"
#include "kernels/scratch.h"

namespace orrery::kernels {

// A sum that grows by lanes, and by the single elements at a row's end. The parts hide the latency of an
// addition.
template <typename T, int count>
struct RunningSum {
  Lanes<T> parts[count] = {};
  Wide<T> rest = 0;
  ORRERY_ALWAYS_INLINE Wide<T> total() const {
    if constexpr (count == 2) return sum(parts[0] + parts[1]) + rest;
    return sum((parts[0] + parts[1]) + (parts[2] + parts[3])) + rest;
  }
};

// Walks `count` elements: pair(i, part) for each pair of lanes (load_pair), where part and part + 1 are the
// parts, of `parts`, of a running sum that they go to; one(i) for the elements behind the last pair.
template <typename T, int parts, typename Pair, typename One>
ORRERY_ALWAYS_INLINE void walk_row(std::int64_t count, const Pair& pair, const One& one) {
  constexpr std::int64_t step = 2 * lane_count<T>;
  std::int64_t i = 0;
  for (; i + parts / 2 * step <= count; i += parts / 2 * step)
    for (int part = 0; part < parts; part += 2) pair(i + part / 2 * step, part);
  for (; i + step <= count; i += step) pair(i, 0);
  for (; i < count; ++i) one(i);
}

// A row that all others meet (w, bias), widened once a call, as the lanes of pairs stand.
template <typename Tag, typename T>
const Wide<T>* wide_row(const T* from, std::int64_t count) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    return from;
  } else {
    Wide<T>* to = scratch<Tag, Wide<T>>(count);
    const auto pair = [&](std::int64_t i, int) {
      Lanes<T> v[2];
      load_pair(from + i, v);
      store_pair(to + i, v);
    };
    walk_row<T, 2>(count, pair, [&](std::int64_t i) { to[i] = widen(from[i]); });
    return to;
  }
}

// 0 for RMS norm. Also fetches the row that is wanted next, where one is given.
template <Norm norm, typename T>
ORRERY_ALWAYS_INLINE Wide<T> row_mean(const T* x, std::int64_t count, const T* next = nullptr) {
  if constexpr (norm == Norm::rms_norm) return 0;
  RunningSum<T, 4> sum;
  const auto pair = [&](std::int64_t i, int part) {
    if (next != nullptr) __builtin_prefetch(next + i);
    Lanes<T> v[2];
    load_pair(x + i, v);
    for (int h = 0; h < 2; ++h) sum.parts[part + h] += v[h];
  };
  walk_row<T, 4>(count, pair, [&](std::int64_t i) { sum.rest += widen(x[i]); });
  return sum.total() * (Wide<T>{1} / static_cast<Wide<T>>(count));
}

template <typename W>
W inverse_deviation(W mean_square) {
  return W{1} / std::sqrt(mean_square + static_cast<W>(kNormEpsilon));
}

}  // namespace orrery::kernels
