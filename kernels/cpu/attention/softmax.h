// Softmax over each row of s scores, with mask and ALiBi; the separate kernel between attention_scores and
// attention_context. Matrices are [batch*heads*s x s] (attention_shape.h). Bound by memory: each element is
// read once and written once, and of causal rows only what the query sees is read. Results may replace an
// input. Arithmetic in Wide<T>. Instantiated for float, double, bf16, fp16; softmax_reference.h says the same
// in simple loops.
#pragma once

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

// y = softmax(x + mask (+ alibi)); 0 where masked
template <typename T>
void softmax_forward(const AttentionShape& a, In<T> x, Out<T> y);

// dx = y (dy - sum(dy y)) with the y of softmax_forward: where causal, dx is 0 behind the query, whatever dy
// is there.
template <typename T>
void softmax_backward(const AttentionShape& a, In<T> y, In<T> dy, Out<T> dx);

}  // namespace orrery::kernels
