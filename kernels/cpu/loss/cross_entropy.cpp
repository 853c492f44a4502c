// Exponentials are taken on lanes (kernels/lane_math.h); NaN among the logits is passed over by the maximum
// and comes out of the sum. A row's sum goes through short float sums into a double, so that a vocabulary of
// any size costs no precision.
#include "kernels/cpu/loss/cross_entropy.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernels/lane_loop.h"
#include "kernels/lane_math.h"

namespace orrery::kernels {
namespace {

template <typename L>
Wide<L> largest_of(const L* row, std::int64_t count) {
  using W = Wide<L>;
  constexpr std::int64_t kLanes = lane_count<L>;
  auto a = all_lanes(-std::numeric_limits<W>::infinity()), b = a;
  std::int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    fetch_ahead(row, i);
    a = maximum(load(row + i), a);
    b = maximum(load(row + i + kLanes), b);
  }
  a = maximum(a, b);
  W largest = a[0];
  for (std::int64_t lane = 1; lane < kLanes; ++lane) largest = std::max(largest, a[lane]);
  for (; i < count; ++i) largest = std::max(largest, widen(row[i]));
  return largest;
}

template <typename L>
double sum_of_exp(const L* row, std::int64_t count, Wide<L> largest) {
  constexpr std::int64_t kBlock = 512;
  double total = 0.0;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t length = std::min(kBlock, count - begin);
    Lanes<L> lanes{};
    std::int64_t i = 0;
    for (; i + lane_count<L> <= length; i += lane_count<L>) {
      fetch_ahead(row, begin + i);
      lanes += exponential(load(row + begin + i) - largest);
    }
    total += static_cast<double>(sum(lanes));
    if (i == length) continue;
    Wide<L> rest[lane_count<L>];
    store(rest, exponential(load_part(row + begin + i, length - i) - largest));
    for (std::int64_t k = 0; k < length - i; ++k) total += static_cast<double>(rest[k]);
  }
  return total;
}

// The label's column in this block, or -1.
template <typename L>
std::int64_t label_column(const VocabularyBlock<L>& block, std::int64_t r) {
  const std::int64_t column = block.labels.data[r] - block.first_column;
  return column >= 0 && column < block.logits.columns ? column : -1;
}

template <typename L>
void check_labels([[maybe_unused]] const VocabularyBlock<L>& block) {
  assert(block.labels.contiguous() && block.labels.count() == block.logits.rows);
}

}  // namespace

template <typename L>
void cross_entropy_max(In<L> logits, Matrix<Wide<L>> stats) {
  assert(stats.rows == logits.rows);
  for (std::int64_t r = 0; r < logits.rows; ++r)
    stats.at(r, kLargestLogit) = largest_of(logits.row(r), logits.columns);
}

template <typename L>
void cross_entropy_sum(const VocabularyBlock<L>& block, Matrix<Wide<L>> stats) {
  check_labels(block);
  assert(stats.rows == block.logits.rows && stats.columns == 4);
  for (std::int64_t r = 0; r < block.logits.rows; ++r) {
    const L* const row = block.logits.row(r);
    const std::int64_t label = label_column(block, r);
    const Wide<L> largest = stats.at(r, kLargestLogit);
    stats.at(r, kSumOfExp) = static_cast<Wide<L>>(sum_of_exp(row, block.logits.columns, largest));
    stats.at(r, kLabelLogit) = label < 0 ? Wide<L>(0) : widen(row[label]);
  }
}

template <typename W>
double cross_entropy_loss(Matrix<W> stats, double scale) {
  assert(stats.columns == 4);
  double total = 0.0;
  for (std::int64_t r = 0; r < stats.rows; ++r) {
    W* const s = stats.row(r);
    s[kRowLoss] = std::log(s[kSumOfExp]) + s[kLargestLogit] - s[kLabelLogit];
    total += static_cast<double>(s[kRowLoss]);
  }
  return scale * total;
}

template <typename L>
void cross_entropy_backward(const VocabularyBlock<L>& block, In<Wide<L>> stats, double scale, double factor,
                            Out<L> dx) {
  using W = Wide<L>;
  check_labels(block);
  assert(dx.view.rows == block.logits.rows && dx.view.columns == block.logits.columns);
  const auto whole = static_cast<W>(scale * factor);
  for (std::int64_t r = 0; r < block.logits.rows; ++r) {
    const L* const row = block.logits.row(r);
    L* const to = dx.view.row(r);
    const W largest = stats.at(r, kLargestLogit), sum = stats.at(r, kSumOfExp), weight = whole / sum;
    const std::int64_t label = label_column(block, r);
    W at_label{};  // the label's element is made apart, since in place it is about to be lost
    if (label >= 0) {
      at_label = whole * (std::exp(widen(row[label]) - largest) / sum - W(1));
      if (dx.adds) at_label += widen(to[label]);
    }
    for_lanes<L>(block.logits.columns, [&](std::int64_t i, auto extent) {
      fetch_ahead(row, i);
      put(to + i, weight * exponential(load(row + i, extent) - largest), dx.adds, extent);
    });
    if (label >= 0) to[label] = narrow<L>(at_label);
  }
}

#define ORRERY_CROSS_ENTROPY(L)                                                \
  template void cross_entropy_max(In<L>, Matrix<Wide<L>>);                     \
  template void cross_entropy_sum(const VocabularyBlock<L>&, Matrix<Wide<L>>); \
  template void cross_entropy_backward(const VocabularyBlock<L>&, In<Wide<L>>, double, double, Out<L>)
ORRERY_CROSS_ENTROPY(double);
ORRERY_CROSS_ENTROPY(float);
ORRERY_CROSS_ENTROPY(bf16);
ORRERY_CROSS_ENTROPY(fp16);
#undef ORRERY_CROSS_ENTROPY
template double cross_entropy_loss(Matrix<double>, double);
template double cross_entropy_loss(Matrix<float>, double);

}  // namespace orrery::kernels
