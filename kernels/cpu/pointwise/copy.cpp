// Runs: the longest stretches that lie in one row of both views. Contiguous views are one run.
#include "kernels/cpu/pointwise/copy.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "kernels/lane_loop.h"

namespace orrery::kernels {
namespace {

template <typename T>
Matrix<T> flattened(Matrix<T> m) {
  return m.contiguous() ? Matrix<T>{m.data, 1, m.count(), m.count()} : m;
}

template <typename From, typename To>
ORRERY_ALWAYS_INLINE void cast_run(const From* x, To* y, bool adds, std::int64_t count) {
  if constexpr (std::is_same_v<From, To>) {
    if (!adds) {
      if (x != y) std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(To));
      return;
    }
  }
  if constexpr (std::is_integral_v<To>) {
    assert(!adds);
  } else if constexpr (std::is_same_v<Wide<From>, Wide<To>>) {
    for_lanes<To>(count, [&](std::int64_t i, auto extent) { put(y + i, load(x + i, extent), adds, extent); });
  } else {  // between double and a smaller type: for checks, not for speed
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(widen(x[i]));
      y[i] = narrow<To>(static_cast<Wide<To>>(adds ? static_cast<double>(widen(y[i])) + value : value));
    }
  }
}

}  // namespace

template <typename T>
void fill(Matrix<T> y) {
  const Matrix<T> flat = flattened(y);
  for (std::int64_t r = 0; r < flat.rows; ++r)
    std::memset(static_cast<void*>(flat.row(r)), 0, static_cast<std::size_t>(flat.columns) * sizeof(T));
}

template <typename From, typename To>
void cast(In<From> x, Out<To> y) {
  assert(x.count() == y.view.count());
  const Matrix<const From> from = flattened(x);
  const Matrix<To> to = flattened(y.view);
  if (from.columns == 0 || to.columns == 0) return;
  std::int64_t from_row = 0, from_column = 0;
  for (std::int64_t r = 0; r < to.rows; ++r)
    for (std::int64_t c = 0; c < to.columns;) {
      const std::int64_t run = std::min(to.columns - c, from.columns - from_column);
      cast_run(&from.at(from_row, from_column), &to.at(r, c), y.adds, run);
      c += run;
      from_column += run;
      if (from_column < from.columns) continue;
      from_column = 0;
      ++from_row;
    }
}

template void fill(Matrix<double>);
template void fill(Matrix<float>);
template void fill(Matrix<bf16>);
template void fill(Matrix<fp16>);
template void fill(Matrix<std::int32_t>);
template void fill(Matrix<std::uint8_t>);

#define ORRERY_CAST_FROM(From)               \
  template void cast(In<From>, Out<double>); \
  template void cast(In<From>, Out<float>);  \
  template void cast(In<From>, Out<bf16>);   \
  template void cast(In<From>, Out<fp16>)
ORRERY_CAST_FROM(double);
ORRERY_CAST_FROM(float);
ORRERY_CAST_FROM(bf16);
ORRERY_CAST_FROM(fp16);
#undef ORRERY_CAST_FROM
template void cast(In<std::int32_t>, Out<std::int32_t>);
template void cast(In<std::uint8_t>, Out<std::uint8_t>);

}  // namespace orrery::kernels
