// Attention as separate kernels, with the matrices of scores in memory. Score-shaped operands x, y, dx are
// [batch*heads*s x s] (attention_shape.h); all s x s pairs are computed, causal or not, as a batched GEMM
// does. Cost: 2 s² d FLOPs a head each. Arithmetic in Wide<T>, rounded once. Instantiated for float, double,
// bf16, fp16; separate_attention_reference.h says the same in simple loops.
#pragma once

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

// y = q kᵀ / sqrt(d)
template <typename T>
void attention_scores(const AttentionShape& a, In<T> q, In<T> k, Out<T> y);
// o = x v, x: probabilities
template <typename T>
void attention_context(const AttentionShape& a, In<T> x, In<T> v, Out<T> o);
// dx = dout vᵀ
template <typename T>
void attention_dprobabilities(const AttentionShape& a, In<T> dout, In<T> v, Out<T> dx);
// dv = xᵀ dout, x: probabilities; summed over the query heads of a key head in their order
template <typename T>
void attention_dvalue(const AttentionShape& a, In<T> x, In<T> dout, Out<T> dv);
// dq = x k / sqrt(d), x: gradient of the scores
template <typename T>
void attention_dquery(const AttentionShape& a, In<T> x, In<T> k, Out<T> dq);
// dk = xᵀ q / sqrt(d), likewise; summed as dvalue is
template <typename T>
void attention_dkey(const AttentionShape& a, In<T> x, In<T> q, Out<T> dk);

}  // namespace orrery::kernels
