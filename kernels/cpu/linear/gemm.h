// Matrix products in the three layouts of a linear layer (docs/schedule.md, section 7), on one thread. T is
// float, double, bf16 or fp16; 16-bit numbers are storage: they are widened as they are packed, products are
// summed in fp32 and rounded once, after bias and accumulation. G, the gradients' type, is T, or float where
// T has 16 bits.
//
// Each element is a sum over k in a fixed order (fused multiply-adds in blocks of 256, block after block), so
// it depends on its row, its column and its k only: not on how many other rows or columns the call has, nor
// on the machine's caches. Scratch is kept per thread and bounded: at most 1.7 MiB (3.4 in double), 6.2 MiB
// where results have 16 bits. Why no Eigen: its product reaches 70 % of this at 256^3 and 80 % at 512^3, and
// would need 16-bit operands widened first.
#pragma once

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

// y[m x n] = x[m x k] w[n x k]^T + bias; bias is one row of n, or absent.
template <typename T>
void gemm_tn(In<T> x, In<T> w, In<T> bias, Out<T> y);

// dx[m x n] = dy[m x k] w[k x n]
template <typename T>
void gemm_nn(In<T> dy, In<T> w, Out<T> dx);

// dw[m x n] = dy[k x m]^T x[k x n]
template <typename T, typename G>
void gemm_nt(In<T> dy, In<T> x, Out<G> dw);

// dbias[c] = sum over rows r of dy[r, c], rows in order; dbias is one row.
template <typename T, typename G>
void bias_backward(In<T> dy, Out<G> dbias);

}  // namespace orrery::kernels
