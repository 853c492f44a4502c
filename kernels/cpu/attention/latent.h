// What latent attention does around attention (DeepSeek-V2, section 2.1): each head's key is its own nope part and one rotated
// part that all heads share; values are padded with zeros to the width of a head. Rotation as in rotary.h, on the last
// rope_dim elements of a head; angles by row / batch. Cost: one pass over the operands.
#pragma once

#include <cstdint>

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

struct LatentShape {
  std::int64_t batch = 1, heads = 1;
  std::int64_t head_dim = 1, rope_dim = 0, value_dim = 0;
};

// q [T x heads head_dim] in place; k, v of that shape from x [T x heads (nope + value)] and shared [T x rope].
template <typename T>
void latent_forward(const LatentShape& shape, Matrix<T> q, In<T> x, In<T> shared, Matrix<T> k, Matrix<T> v);
template <typename T>
void latent_backward(const LatentShape& shape, Matrix<T> dq, In<T> dk, In<T> dv, Matrix<T> dx, Matrix<T> dshared);

// Heads trimmed or padded with zeros.
template <typename T>
void resize_heads(std::int64_t heads, In<T> x, Matrix<T> y);

}  // namespace orrery::kernels
