// Where tensor and sequence parallelism meet the algebra of a layer (Shoeybi et al. 2019; Korthikanti et al.
// 2022). Between the parallel regions an activation is [T x h] on every tensor rank, or, under sequence
// parallelism, the rank's T / tp rows of it. `f` and `g` of the papers:
//   gather_rows  before a column-parallel GEMM: all_gather of the rows (sequence parallelism), else nothing
//   reduce_rows  behind a row-parallel GEMM: reduce_scatter to rows, or all_reduce, or nothing with tp = 1
#pragma once

#include <string>

#include "schedule/compile/stage.h"

namespace orrery::schedule {

Tensor gather_rows(Stage& s, BlockBuilder& b, Tensor local, const std::string& name,
                   Stream stream = Stream::compute);

// `partial` [T x h] is reduced; returns the tensor that holds the result.
Tensor reduce_rows(Stage& s, BlockBuilder& b, Tensor partial, const std::string& name,
                   Stream stream = Stream::compute);

// The stream of backward collectives that a GEMM can hide.
Stream hidden_stream(const Stage& s);

// Of a collective in a block: `alone` or, where the block runs together with another, a stream of its own; and the place
// behind it, where the other may go on. What a block begins with stays behind the computation before the block.
Stream collective_stream(const Stage& s, const BlockBuilder& b, Stream alone);
void may_cut(const Stage& s, BlockBuilder& b);

// Shapes of GEMMs: y = x w^T, dx = dy w, dw += dy^T x.
KernelShape forward_gemm(Tensor x, Tensor w);
KernelShape input_gradient_gemm(Tensor dy, Tensor w);
KernelShape weight_gradient_gemm(Tensor dy, Tensor x);

}  // namespace orrery::schedule
