// Magnitudes are compared as the integers that their bits are: the same order, total even with NaN. The k-th
// largest of a copy is the threshold (std::nth_element); one more pass takes what lies above it, and of what
// equals it the first ones.
#include "kernels/cpu/optimizer/top_k.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <vector>

namespace orrery::kernels {
namespace {

template <typename W>
auto magnitude(W value) {
  using Bits = std::make_unsigned_t<IndexBits<W>>;
  return std::bit_cast<Bits>(value) & (~Bits{0} >> 1);
}

}  // namespace

template <typename G>
void top_k_select(In<G> x, Matrix<Wide<G>> selected) {
  using Bits = std::make_unsigned_t<IndexBits<Wide<G>>>;
  const std::int64_t count = x.count(), k = selected.columns;
  assert(x.contiguous() && selected.rows == 2 && k >= 1 && k <= count);
  std::vector<Bits> magnitudes(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    magnitudes[static_cast<std::size_t>(i)] = magnitude(widen(x.data[i]));
  const auto kth = magnitudes.begin() + (k - 1);
  std::nth_element(magnitudes.begin(), kth, magnitudes.end(), std::greater<>());
  const Bits threshold = *kth;
  const auto above = std::count_if(magnitudes.begin(), kth, [&](Bits m) { return m > threshold; });
  std::int64_t equal_ones = k - above;

  std::vector<std::int64_t> chosen;
  chosen.reserve(static_cast<std::size_t>(k));
  for (std::int64_t i = 0; i < count; ++i) {
    const Bits m = magnitude(widen(x.data[i]));
    if (m > threshold || (m == threshold && equal_ones-- > 0)) chosen.push_back(i);
  }
  const auto size = [&](std::int64_t i) { return magnitude(widen(x.data[i])); };
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](std::int64_t a, std::int64_t b) { return size(a) > size(b); });
  for (std::int64_t i = 0; i < k; ++i) {
    const std::int64_t index = chosen[static_cast<std::size_t>(i)];
    selected.at(0, i) = widen(x.data[index]);
    selected.at(1, i) = stored_index<Wide<G>>(index);
  }
}

template <typename G>
void top_k_keep_rest(In<Wide<G>> selected, Matrix<G> x) {
  assert(x.contiguous() && selected.rows == 2);
  for (std::int64_t i = 0; i < selected.columns; ++i) x.data[index_of(selected.at(1, i))] = G{};
}

template <typename G>
void top_k_apply(In<Wide<G>> x, std::int64_t first, Matrix<G> y) {
  assert(y.contiguous() && x.rows % 2 == 0);
  for (std::int64_t block = 0; block < x.rows; block += 2)
    for (std::int64_t i = 0; i < x.columns; ++i) {
      const std::int64_t at = index_of(x.at(block + 1, i)) - first;
      if (at >= 0 && at < y.count()) y.data[at] = narrow<G>(widen(y.data[at]) + x.at(block, i));
    }
}

#define ORRERY_TOP_K(G)                                  \
  template void top_k_select(In<G>, Matrix<Wide<G>>);    \
  template void top_k_keep_rest(In<Wide<G>>, Matrix<G>); \
  template void top_k_apply(In<Wide<G>>, std::int64_t, Matrix<G>)
ORRERY_TOP_K(double);
ORRERY_TOP_K(float);
ORRERY_TOP_K(bf16);
ORRERY_TOP_K(fp16);
#undef ORRERY_TOP_K

}  // namespace orrery::kernels
