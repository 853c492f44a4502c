// A square of lanes turned over its diagonal in registers: rows become columns, in exchanges of ever larger squares (of 1,
// 2, then 4 lanes). All but the last stay within halves of a vector, where a shuffle takes one cycle.
#pragma once

#include "kernels/convert.h"

namespace orrery::kernels {

ORRERY_ALWAYS_INLINE void transpose(FloatLanes (&r)[8]) {
  FloatLanes s[8], t[8];
  for (int i = 0; i < 8; i += 2) {
    s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (const int i : {0, 1, 4, 5}) {
    t[i] = __builtin_shufflevector(s[i], s[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    t[i + 2] = __builtin_shufflevector(s[i], s[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = __builtin_shufflevector(t[i], t[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[i + 4] = __builtin_shufflevector(t[i], t[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

ORRERY_ALWAYS_INLINE void transpose(DoubleLanes (&r)[4]) {
  DoubleLanes s[4];
  for (int i = 0; i < 4; i += 2) {
    s[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 4, 2, 6);
    s[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 1, 5, 3, 7);
  }
  for (int i = 0; i < 2; ++i) {
    r[i] = __builtin_shufflevector(s[i], s[i + 2], 0, 1, 4, 5);
    r[i + 2] = __builtin_shufflevector(s[i], s[i + 2], 2, 3, 6, 7);
  }
}

}  // namespace orrery::kernels
