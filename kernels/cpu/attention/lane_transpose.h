// A square of lanes turned over its diagonal, by perfect shuffles: each round weaves vector i with vector i +
// n/2, which turns the bits of (row, column) by one place; after log2(n) rounds row and column have changed
// places.
#pragma once

#include <utility>

#include "kernels/convert.h"

namespace orrery::kernels {

namespace lanes_detail {
ORRERY_ALWAYS_INLINE FloatLanes weave_first(FloatLanes a, FloatLanes b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
ORRERY_ALWAYS_INLINE FloatLanes weave_second(FloatLanes a, FloatLanes b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
ORRERY_ALWAYS_INLINE DoubleLanes weave_first(DoubleLanes a, DoubleLanes b) {
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
ORRERY_ALWAYS_INLINE DoubleLanes weave_second(DoubleLanes a, DoubleLanes b) {
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}
}  // namespace lanes_detail

template <typename W>
ORRERY_ALWAYS_INLINE void transpose(Lanes<W> (&square)[lane_count<W>]) {
  constexpr int kLanes = lane_count<W>;
  for (int round = 1; round < kLanes; round *= 2) {
    Lanes<W> woven[kLanes];
    for (int i = 0; i < kLanes / 2; ++i) {
      woven[2 * i] = lanes_detail::weave_first(square[i], square[i + kLanes / 2]);
      woven[2 * i + 1] = lanes_detail::weave_second(square[i], square[i + kLanes / 2]);
    }
    for (int i = 0; i < kLanes; ++i) square[i] = woven[i];
  }
}

}  // namespace orrery::kernels
