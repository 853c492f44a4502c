// The same with one element at a time and no passes shared: what block quantisation means.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/cpu/quantise/block_quantise.h"

namespace orrery::kernels::reference {

// The scale of the block that column c of the row lies in.
template <typename T>
float block_scale(In<T> x, std::int64_t row, std::int64_t c, BlockFormat f) {
  const std::int64_t begin = c / f.block * f.block, end = std::min(x.columns, begin + f.block);
  double largest = 0.0;
  for (std::int64_t i = begin; i < end; ++i) largest = std::max(largest, std::abs(static_cast<double>(widen(x.at(row, i)))));
  return static_cast<float>(largest / ((1 << (f.bits - 1)) - 1));
}

// What column c of the row is behind a quantisation and its inverse.
template <typename T>
double value_after(In<T> x, std::int64_t row, std::int64_t c, BlockFormat f) {
  const double scale = block_scale(x, row, c, f);
  return scale == 0.0 ? 0.0 : scale * std::nearbyint(static_cast<double>(widen(x.at(row, c))) / scale);
}

}  // namespace orrery::kernels::reference
