// Symmetric block quantisation, as ZeRO++ sends weights and gradients (Wang et al. 2023, sections 3.1 and 3.3): each block
// of a row has one scale, max |x| / qmax with qmax = 2^(bits - 1) - 1, and an element is the whole number nearest to
// x / scale, ties to even. The error of an element is at most half a scale.
//
// A row of n elements becomes ceil(n * bits / 8) bytes of codes (8 bits: two's complement; 4 bits: two a byte, the
// first in the lower half) and, behind them, a float for each block. A block with an infinity or NaN has the scale NaN,
// so that an overflow stays visible. Cost: two passes over the row, which is in the cache for the second.
#pragma once

#include <cstdint>

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

struct BlockFormat {
  std::int64_t block = 256;  // elements that share a scale; even
  int bits = 8;              // 8 or 4
};

constexpr std::int64_t blocks_of(std::int64_t columns, BlockFormat f) { return (columns + f.block - 1) / f.block; }
constexpr std::int64_t code_bytes(std::int64_t columns, BlockFormat f) { return (columns * f.bits + 7) / 8; }
constexpr std::int64_t payload_bytes(std::int64_t columns, BlockFormat f) {
  return code_bytes(columns, f) + 4 * blocks_of(columns, f);
}

// y [x.rows x payload_bytes(x.columns)]. T: double, float, bf16, fp16.
template <typename T>
void quantise(In<T> x, BlockFormat f, Matrix<std::uint8_t> y);

// y[i] = the sum of the values of rows i, i + y.rows, i + 2 y.rows, ... of x, whose rows are a multiple of y's; with as
// many rows as y, their values. Summed in T's wide type, in order.
template <typename T>
void dequantise(In<std::uint8_t> x, BlockFormat f, Out<T> y);

}  // namespace orrery::kernels
