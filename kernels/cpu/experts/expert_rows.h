// Tokens' rows by expert and back. The row of choice (t, j) is found from the routes alone: experts in order, within one by
// t, then j; choices without room (routes below 0) have none. Sums over a token's choices are in the order of j, in fp32
// (fp64 for double), rounded once. Cost: one pass over the rows; a few integers a choice of thread scratch.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

// y[row of (t, j)] = x[t]
template <typename T>
void permute_rows(In<T> x, In<std::int32_t> routes, std::int64_t experts, Out<T> y);

// y[t] = sum over j of weights[t, j] x[row of (t, j)]; without weights they are 1.
template <typename T>
void combine_rows(In<T> x, In<std::int32_t> routes, std::int64_t experts, In<Wide<T>> weights, Out<T> y);

// dx[row of (t, j)] = weights[t, j] dy[t]; dweights[t, j] = dy[t] . x[row of (t, j)], 0 where there is none.
template <typename T>
void combine_rows_backward(In<T> dy, In<T> x, In<std::int32_t> routes, std::int64_t experts, In<Wide<T>> weights,
                           Out<T> dx, Matrix<Wide<T>> dweights);

// From sender by sender to expert by expert, or back: lengths[s * experts + e] rows of each pair.
template <typename T>
void sort_rows(std::span<const std::int64_t> lengths, std::int64_t experts, bool back, In<T> x, Out<T> y);

}  // namespace orrery::kernels
