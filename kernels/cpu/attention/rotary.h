// Rotary positions (Su et al.: "RoFormer", 2021), the "rotate half" form of GPT-NeoX and Llama: in each head,
// elements i and i + d/2 turn by position * 10000^(-2i/d), position = first_position + row / batch. In place. Angles are
// computed in double, once for a (d, positions) in a table that the thread keeps; the turning is bound by
// memory, in Wide<T>. Instantiated for float, double, bf16, fp16; rotary_reference.h says the same in simple
// loops.
#pragma once

#include <cstdint>

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

struct RotaryShape {
  std::int64_t batch = 1;
  std::int64_t head_dim = 2;  // even; divides the columns
  std::int64_t first_position = 0;
};

// Turns every head of x [T x heads*d]: q, and k likewise.
template <typename T>
void rotary_forward(const RotaryShape& r, Matrix<T> x);

// Turns back: the gradient of the above, and its inverse.
template <typename T>
void rotary_backward(const RotaryShape& r, Matrix<T> dx);

}  // namespace orrery::kernels
