// fill, cast and add: what moves elements without arithmetic. x and y may have different shapes of equal
// counts; elements correspond in row-major order. Equal types are copied by memcpy, whose stores pass the
// cache by where that is faster.
#pragma once

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

// y = 0. T: double, float, bf16, fp16, std::int32_t, std::uint8_t.
template <typename T>
void fill(Matrix<T> y);

// y = x, or y += x where y adds. Every pair of double, float, bf16, fp16; and std::int32_t, std::uint8_t to
// themselves (which do not add).
template <typename From, typename To>
void cast(In<From> x, Out<To> y);

// y += x, for the same pairs of floating types.
template <typename From, typename To>
void add(In<From> x, Matrix<To> y) {
  cast<From, To>(x, Out<To>{y, true});
}

}  // namespace orrery::kernels
