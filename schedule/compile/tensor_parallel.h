// Where tensor and sequence parallelism meet the algebra of a layer (Shoeybi et al. 2019; Korthikanti et al.
// 2022). Between the parallel regions an activation is [T x h] on every tensor rank, or, under sequence
// parallelism, the rank's T / tp rows of it. `f` and `g` of the papers:
//   gather_rows  before a column-parallel GEMM: all_gather of the rows (sequence parallelism), else nothing
//   reduce_rows  behind a row-parallel GEMM: reduce_scatter to rows, or all_reduce, or nothing with tp = 1
//
// With overlap.tensor_chunks = n > 1 a GEMM that waits for a gather, or is waited for by a reduction, is cut into n row chunks, and
// the collective of one chunk travels beside the GEMM of another (Wang et al.: "Overlap Communication with Dependent
// Computation via Decomposition", ASPLOS 2023; Megatron Core's tp_comm_overlap; PyTorch's async TP). For chunks to be
// consecutive rows, a tensor rank's rows under sequence parallelism are then 1 / tp of each chunk, not of the whole.
#pragma once

#include <string>

#include "schedule/compile/stage.h"

namespace orrery::schedule {

// What a column-parallel GEMM reads: rows that are here already, or `local` ones yet to be gathered into `full`.
struct Gathered {
  Tensor full, local{};
};
Gathered gather_in_chunks(Stage& s, BlockBuilder& b, Tensor local, const std::string& name);

// y = x w^T (+ bias), or y = x w where `backward`, gathering x on the way; returns all of x.
struct Product {
  Tensor w, bias{};
  bool backward = false;
};
Tensor column_parallel(Stage& s, BlockBuilder& b, const Gathered& x, const Product& product, Tensor y);

// Reduced rows of x w^T, whose partial sums are in `partial`.
Tensor row_parallel(Stage& s, BlockBuilder& b, Tensor x, Tensor w, Tensor partial, const std::string& reduced);

Tensor gather_rows(Stage& s, BlockBuilder& b, Tensor local, const std::string& name,
                   Stream stream = Stream::compute);

// Sequence parallelism: this rank's rows gathered into `full`, whose place is given.
void gather_rows_into(Stage& s, BlockBuilder& b, Tensor local, Tensor full, Stream stream = Stream::compute);

// Sequence parallelism: `partial` [T x h] reduced to this rank's rows.
void scatter_rows(Stage& s, BlockBuilder& b, Tensor partial, Tensor local, Stream stream = Stream::compute);

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
