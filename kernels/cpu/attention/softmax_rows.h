// One row of scores: bias, maximum, exponentials. Shared by the fused and the separate softmax. Rows are
// padded to whole vectors with -infinity, which counts for nothing in the maximum and becomes 0.
#pragma once

#include <algorithm>
#include <limits>

#include "kernels/cpu/attention/tiles.h"
#include "kernels/lane_math.h"

namespace orrery::kernels {

namespace lanes_detail {
ORRERY_ALWAYS_INLINE FloatLanes lane_numbers(float) { return FloatLanes{0, 1, 2, 3, 4, 5, 6, 7}; }
ORRERY_ALWAYS_INLINE DoubleLanes lane_numbers(double) { return DoubleLanes{0, 1, 2, 3}; }
}  // namespace lanes_detail

// row[i] += slope * (distance + i). `distance`: the row's first key less its query.
template <typename W>
ORRERY_ALWAYS_INLINE void add_alibi(W* row, std::int64_t count, W slope, std::int64_t distance) {
  const Lanes<W> numbers = lanes_detail::lane_numbers(W{});
  for (std::int64_t i = 0; i < count; i += lane_count<W>)
    store(row + i, load(row + i) + slope * (numbers + static_cast<W>(distance + i)));
}

template <typename W>
ORRERY_ALWAYS_INLINE void pad_with_minus_infinity(W* row, std::int64_t count) {
  for (std::int64_t i = count; i % lane_count<W> != 0; ++i) row[i] = -std::numeric_limits<W>::infinity();
}

// Of a padded row. NaN may be lost here; exponentiate_row meets it again.
template <typename W>
ORRERY_ALWAYS_INLINE W row_maximum(const W* row, std::int64_t count) {
  Lanes<W> most = all_lanes(-std::numeric_limits<W>::infinity());
  for (std::int64_t i = 0; i < count; i += lane_count<W>) {
    const Lanes<W> next = load(row + i);
    most = next > most ? next : most;
  }
  W result = most[0];
  for (std::int64_t i = 1; i < lane_count<W>; ++i) result = std::max<W>(result, most[i]);
  return result;
}

// to[i] = exp(row[i] - shift); returns their sum. A padded row; `to` may be the row.
template <typename W>
ORRERY_ALWAYS_INLINE W exponentiate_row(const W* row, W* to, std::int64_t count, W shift) {
  Lanes<W> total = {};
  for (std::int64_t i = 0; i < count; i += lane_count<W>) {
    const Lanes<W> e = exponential(load(row + i) - shift);
    store(to + i, e);
    total += e;
  }
  return sum(total);
}

template <typename W>
ORRERY_ALWAYS_INLINE void scale_row(W* row, std::int64_t count, W factor) {
  for (std::int64_t i = 0; i < count; i += lane_count<W>) store(row + i, load(row + i) * factor);
}

}  // namespace orrery::kernels
