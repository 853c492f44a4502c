// Dropout, alone and fused with what surrounds it. Kept elements are divided by 1 - p; which are kept is
// drawn from kernels/random.h by the global element, so any shard of a tensor repeats its part of the whole
// tensor's mask. T is double, float, bf16 or fp16. Cost: about half a nanosecond an element for the draws.
#pragma once

#include <cstdint>

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

// Where the rows of an op lie among all draws.
//   Hidden states: row = position * batch + sequence; row r is row first_row + r of the microbatch (a
//   sequence shard), and its column c is element position * total_columns + first_column + c of its sequence.
//   Attention probabilities, where heads > 0: [batch * heads * queries x keys], sequence outermost, then
//   head, then query; column c is element ((first_head + head) * queries + query) * total_columns +
//   first_column + c.
struct Dropout {
  double probability = 0.0;
  const std::uint64_t* keys = nullptr;  // of each sequence of the microbatch; read only where probability > 0
  std::int64_t batch = 1, first_row = 0;
  std::int64_t total_columns = 0, first_column = 0;
  std::int64_t heads = 0, first_head = 0, queries = 0;

  struct Draws {
    std::uint64_t key = 0;
    std::int64_t first_element = 0;
  };
  Draws of_row(std::int64_t r) const {
    if (heads > 0) {
      const std::int64_t head = first_head + r / queries % heads;
      return {keys[r / (queries * heads)], (head * queries + r % queries) * total_columns + first_column};
    }
    const std::int64_t row = first_row + r;
    return {keys[row % batch], row / batch * total_columns + first_column};
  }
  double scale() const { return 1.0 / (1.0 - probability); }
};

// y = x mask / (1 - p); the mask is written, a byte an element: all ones where p is 0.
template <typename T>
void dropout_forward(const Dropout& dropout, In<T> x, Out<T> y, Matrix<std::uint8_t> mask);
// dx = dy mask / (1 - p)
template <typename T>
void dropout_backward(double probability, In<T> dy, In<std::uint8_t> mask, Out<T> dx);

// y = residual + dropout(x + bias). Bias (contiguous, one element a column) and residual may be absent; the
// mask is there, and written, exactly where p > 0. y may be x or the residual.
template <typename T>
void bias_dropout_add_forward(const Dropout& dropout, In<T> x, In<T> bias, In<T> residual, Out<T> y,
                              Matrix<std::uint8_t> mask);
// dx = dy mask / (1 - p); dbias: its column sums before rounding. Either may be absent; G is T, or float
// where T has 16 bits.
template <typename T, typename G>
void bias_dropout_add_backward(double probability, In<T> dy, In<std::uint8_t> mask, Out<T> dx, Out<G> dbias);

}  // namespace orrery::kernels
