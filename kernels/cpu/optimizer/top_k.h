// Gradient compression by magnitude (Lin et al. 2018, "Deep gradient compression"): the k largest elements go
// to all ranks, what is left behind stays as the error that the next step feeds back. G is double, float,
// bf16 or fp16; what is selected is [2 x k] of Wide<G>: values, and indices as the bits of an integer of the
// same size, exact for every vector that fits in memory. Such a matrix can be gathered and copied, not added
// up. Cost: selection is linear in the vector and copies it once.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

template <typename W>
using IndexBits = std::conditional_t<std::is_same_v<W, double>, std::int64_t, std::int32_t>;
template <typename W>
std::int64_t index_of(W stored) {
  return std::bit_cast<IndexBits<W>>(stored);
}
template <typename W>
W stored_index(std::int64_t index) {
  return std::bit_cast<W>(static_cast<IndexBits<W>>(index));
}

// The k = selected.columns largest |x| of the contiguous vector x, largest first, of equal ones the lower
// index. NaN counts as larger than infinity, so that it is not hidden.
template <typename G>
void top_k_select(In<G> x, Matrix<Wide<G>> selected);

// Zeroes what was selected: x keeps the rest.
template <typename G>
void top_k_keep_rest(In<Wide<G>> selected, Matrix<G> x);

// y[index - first] += value for every block [2 x k] of x [2n x k], where that lies in y, a contiguous stretch
// that begins at position `first` of the vector. Blocks in order, so that sums are reproducible.
template <typename G>
void top_k_apply(In<Wide<G>> x, std::int64_t first, Matrix<G> y);

}  // namespace orrery::kernels
