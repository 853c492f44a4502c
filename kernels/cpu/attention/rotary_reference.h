// The meaning of the rotary kernels: one pair of elements at a time, in double. direction: 1 forward, -1
// backward.
#pragma once

#include <cmath>

#include "kernels/cpu/attention/reference_put.h"
#include "kernels/cpu/attention/rotary.h"

namespace orrery::kernels::reference {

template <typename T>
void rotary(const RotaryShape& r, Matrix<T> x, double direction) {
  const std::int64_t half = r.head_dim / 2;
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const std::int64_t position = r.first_position + row / r.batch;
    for (std::int64_t head = 0; head < x.columns; head += r.head_dim)
      for (std::int64_t i = 0; i < half; ++i) {
        const double frequency =
            std::pow(10000.0, -static_cast<double>(2 * i) / static_cast<double>(r.head_dim));
        const double angle = direction * static_cast<double>(position) * frequency;
        const double first = value(x, row, head + i), second = value(x, row, head + half + i);
        put(Out<T>{x}, row, head + i, first * std::cos(angle) - second * std::sin(angle));
        put(Out<T>{x}, row, head + half + i, second * std::cos(angle) + first * std::sin(angle));
      }
  }
}

}  // namespace orrery::kernels::reference
