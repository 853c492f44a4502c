// Token and position tables. The token table may be a block of the vocabulary: first_row is the vocabulary
// index of its row 0; tokens of other blocks give rows of 0, and no gradient. Tokens are ids [T x 1],
// contiguous. Rows of activations are position * batch + sequence. T is double, float, bf16 or fp16; G is T,
// or float where T has 16 bits.
//
// Gradients of one table row are summed in Wide<T> in the order of the activation's rows and rounded once, so
// they depend neither on threads nor on how often a token occurs. Cost: one pass over the rows; the backward
// sorts T indices.
#pragma once

#include <cstdint>

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

using Tokens = In<std::int32_t>;

// y[r] = w[token r - first_row], or 0
template <typename T>
void embedding_forward(Tokens tokens, In<T> w, std::int64_t first_row, Out<T> y);

// dw[token r - first_row] += dy[r]; where dw does not add, rows without a token are 0.
template <typename T, typename G>
void embedding_backward(Tokens tokens, In<T> dy, std::int64_t first_row, Out<G> dw);

// Row r of the activations is row first_row + r of the microbatch.
struct Positions {
  std::int64_t batch = 1;
  std::int64_t first_row = 0;
  std::int64_t of_row(std::int64_t r) const { return (first_row + r) / batch; }
};

// y[r] += w[position of r]
template <typename T>
void position_forward(In<T> w, const Positions& positions, Matrix<T> y);

// dw[position of r] += dy[r]; where dw does not add, the other rows are 0.
template <typename T, typename G>
void position_backward(In<T> dy, const Positions& positions, Out<G> dw);

}  // namespace orrery::kernels
