// Attention in one kernel each way: softmax(q kᵀ / sqrt(d) + mask) v, tile by tile, without a matrix of s x
// s. The forward keeps each query's running maximum and sum (Dao et al.: "FlashAttention", NeurIPS 2022,
// algorithm 1; Dao: "FlashAttention-2", 2023) and leaves lse = ln sum exp(score); the backward computes the
// scores again from q, k, lse:
//
//     P = exp(S - lse)    D = rowsum(dO o O)    dS = P o (dO Vᵀ - D)
//     dV = Pᵀ dO          dQ = dS K / sqrt(d)   dK = dSᵀ Q / sqrt(d)
//
// with dropout P o mask / (1 - p) in dV and dO Vᵀ o mask / (1 - p) in dS. Tiles behind the diagonal are left
// out when causal. Cost, forward: 4 s² d FLOPs a head (half when causal), backward 10; working memory of a
// thread: a few s x d. All arithmetic is in Wide<T>. q, k, v may be views into one buffer (fused qkv), their
// gradients too.
//
// Queries and keys may be parts of a sequence at positions of their own (AttentionShape::query_runs, key_runs): then o
// and lse are of these keys alone, 0 and -infinity where a query sees none, and merge.h puts parts together (Liu,
// Zaharia, Abbeel: "Ring Attention with Blockwise Transformers", 2023). The backward takes o and lse of all keys, and
// gives what these keys add. Instantiated for float, double, bf16, fp16; fused_attention_reference.h says the same in
// simple loops.
#pragma once

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

template <typename T>
struct AttentionInput {
  In<T> q, k, v;  // q [T x heads*d]; k, v [T x kv_heads*d]
};

template <typename T>
struct AttentionSaved {
  In<T> dout, o;    // [T x heads*d]
  In<Wide<T>> lse;  // [batch*heads x s]
};

template <typename T>
struct AttentionGradients {
  Out<T> dq, dk, dv;
};

// o [T x heads*d]; lse [batch*heads x s], may be absent.
template <typename T>
void attention_forward(const AttentionShape& a, const AttentionInput<T>& in, const AttentionDropout& dropout,
                       Out<T> o, Out<Wide<T>> lse);

// The gradient of a key head is summed over its query heads in their order.
template <typename T>
void attention_backward(const AttentionShape& a, const AttentionInput<T>& in, const AttentionSaved<T>& saved,
                        const AttentionDropout& dropout, const AttentionGradients<T>& out);

}  // namespace orrery::kernels
