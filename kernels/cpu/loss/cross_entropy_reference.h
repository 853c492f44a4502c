// Cross entropy as plain loops in double, for tests.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/cpu/loss/cross_entropy.h"

namespace orrery::kernels::reference {

template <typename L>
double logit(const VocabularyBlock<L>& block, std::int64_t r, std::int64_t c) {
  return static_cast<double>(widen(block.logits.at(r, c)));
}

// The four numbers of each row, of the whole vocabulary in one block.
template <typename L>
void cross_entropy(const VocabularyBlock<L>& block, Matrix<double> stats) {
  for (std::int64_t r = 0; r < block.logits.rows; ++r) {
    double largest = logit(block, r, 0), sum = 0.0;
    for (std::int64_t c = 1; c < block.logits.columns; ++c) largest = std::max(largest, logit(block, r, c));
    for (std::int64_t c = 0; c < block.logits.columns; ++c) sum += std::exp(logit(block, r, c) - largest);
    const double label = logit(block, r, block.labels.data[r] - block.first_column);
    const double numbers[] = {largest, sum, label, std::log(sum) + largest - label};
    std::copy_n(numbers, 4, stats.row(r));
  }
}

template <typename L>
void cross_entropy_backward(const VocabularyBlock<L>& block, In<double> stats, double scale, Out<L> dx) {
  for (std::int64_t r = 0; r < block.logits.rows; ++r)
    for (std::int64_t c = 0; c < block.logits.columns; ++c) {
      const double p = std::exp(logit(block, r, c) - stats.at(r, 0)) / stats.at(r, 1);
      const double value = scale * (c == block.labels.data[r] - block.first_column ? p - 1.0 : p);
      const double before = dx.adds ? static_cast<double>(widen(dx.view.at(r, c))) : 0.0;
      dx.view.at(r, c) = narrow<L>(static_cast<Wide<L>>(before + value));
    }
}

}  // namespace orrery::kernels::reference
