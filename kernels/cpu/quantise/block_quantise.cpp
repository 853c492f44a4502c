#include "kernels/cpu/quantise/block_quantise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace orrery::kernels {
namespace {

constexpr int qmax(int bits) { return (1 << (bits - 1)) - 1; }

template <typename T>
using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

// One row's codes and scales; `begin` is the first column of a block.
template <typename T>
void quantise_row(const T* x, std::int64_t columns, BlockFormat f, std::uint8_t* codes) {
  using W = Sum<T>;
  std::uint8_t* scales = codes + code_bytes(columns, f);
  const W limit = static_cast<W>(qmax(f.bits));
  for (std::int64_t begin = 0; begin < columns; begin += f.block) {
    const std::int64_t end = std::min(columns, begin + f.block);
    W largest = 0;
    bool finite = true;
    for (std::int64_t i = begin; i < end; ++i) {
      const W magnitude = std::abs(static_cast<W>(x[i]));
      finite = finite && std::isfinite(magnitude);
      largest = std::max(largest, magnitude);
    }
    const float scale = finite ? static_cast<float>(largest / limit) : std::numeric_limits<float>::quiet_NaN();
    std::memcpy(scales, &scale, sizeof scale);
    scales += sizeof scale;
    const auto code = [&](std::int64_t i) {
      if (i >= end || !(scale > 0.0F)) return 0;
      return static_cast<int>(std::clamp(std::nearbyint(static_cast<W>(x[i]) / static_cast<W>(scale)), -limit, limit));
    };
    if (f.bits == 8) {
      for (std::int64_t i = begin; i < end; ++i) codes[i] = static_cast<std::uint8_t>(code(i) & 0xff);
    } else {
      for (std::int64_t i = begin; i < end; i += 2)
        codes[i / 2] = static_cast<std::uint8_t>((code(i) & 0xf) | ((code(i + 1) & 0xf) << 4));
    }
  }
}

int code_at(const std::uint8_t* codes, std::int64_t i, int bits) {
  if (bits == 8) return static_cast<std::int8_t>(codes[i]);
  const int half = (codes[i / 2] >> (i % 2 * 4)) & 0xf;
  return half >= 8 ? half - 16 : half;
}

// sum += the row's values.
template <typename W>
void add_row(const std::uint8_t* codes, std::int64_t columns, BlockFormat f, W* sum) {
  const std::uint8_t* scales = codes + code_bytes(columns, f);
  for (std::int64_t begin = 0; begin < columns; begin += f.block, scales += sizeof(float)) {
    float scale = 0.0F;
    std::memcpy(&scale, scales, sizeof scale);
    const std::int64_t end = std::min(columns, begin + f.block);
    for (std::int64_t i = begin; i < end; ++i)
      sum[i] += static_cast<W>(scale) * static_cast<W>(code_at(codes, i, f.bits));
  }
}

}  // namespace

template <typename T>
void quantise(In<T> x, BlockFormat f, Matrix<std::uint8_t> y) {
  for (std::int64_t r = 0; r < x.rows; ++r) quantise_row(x.row(r), x.columns, f, y.row(r));
}

template <typename T>
void dequantise(In<std::uint8_t> x, BlockFormat f, Out<T> y) {
  using W = Sum<T>;
  thread_local std::vector<W> sum;
  for (std::int64_t i = 0; i < y.view.rows; ++i) {
    sum.assign(static_cast<std::size_t>(y.view.columns), W{0});
    for (std::int64_t r = i; r < x.rows; r += y.view.rows) add_row(x.row(r), y.view.columns, f, sum.data());
    T* const row = y.view.row(i);
    for (std::int64_t c = 0; c < y.view.columns; ++c) {
      const W value = sum[static_cast<std::size_t>(c)];
      row[c] = static_cast<T>(y.adds ? static_cast<W>(row[c]) + value : value);
    }
  }
}

#define ORRERY_QUANTISE(T)                                             \
  template void quantise(In<T>, BlockFormat, Matrix<std::uint8_t>);    \
  template void dequantise(In<std::uint8_t>, BlockFormat, Out<T>)
ORRERY_QUANTISE(double);
ORRERY_QUANTISE(float);
ORRERY_QUANTISE(bf16);
ORRERY_QUANTISE(fp16);
#undef ORRERY_QUANTISE

}  // namespace orrery::kernels
