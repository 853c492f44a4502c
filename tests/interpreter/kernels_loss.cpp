#include "tests/interpreter/kernels_loss.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace orrery::interpreter {

void cross_entropy_max(ConstView x, TensorView stats) {
  CHECK(stats.rows == x.rows && stats.columns >= 1, stats.rows, stats.columns, x.rows);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    double largest = x.at(r, 0);
    for (std::int64_t c = 1; c < x.columns; ++c) largest = std::max(largest, x.at(r, c));
    stats.at(r, 0) = largest;
  }
}

void cross_entropy_sum(const VocabularyBlock& block, TensorView stats) {
  const ConstView& x = block.x;
  CHECK(stats.rows == x.rows && stats.columns == 4 && block.labels.count() == x.rows, stats.rows, stats.columns);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    double sum = 0.0;
    for (std::int64_t c = 0; c < x.columns; ++c) sum += std::exp(x.at(r, c) - stats.at(r, 0));
    const auto label = static_cast<std::int64_t>(block.labels[r]) - block.first_column;
    stats.at(r, 1) = sum;
    stats.at(r, 2) = label >= 0 && label < x.columns ? x.at(r, label) : 0.0;
  }
}

double cross_entropy_loss(TensorView stats, double scale) {
  CHECK(stats.columns == 4, stats.columns);
  double sum = 0.0;
  for (std::int64_t r = 0; r < stats.rows; ++r)
    sum += stats.at(r, 3) = std::log(stats.at(r, 1)) + stats.at(r, 0) - stats.at(r, 2);
  return scale * sum;
}

void cross_entropy_backward(const VocabularyBlock& block, ConstView stats, double scale, Output dx) {
  const ConstView& x = block.x;
  CHECK(dx.view.rows == x.rows && dx.view.columns == x.columns && stats.rows == x.rows, dx.view.rows, x.rows);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const auto label = static_cast<std::int64_t>(block.labels[r]) - block.first_column;
    for (std::int64_t c = 0; c < x.columns; ++c) {
      const double p = std::exp(x.at(r, c) - stats.at(r, 0)) / stats.at(r, 1);
      dx.put(r, c, scale * (c == label ? p - 1.0 : p));
    }
  }
}

}  // namespace orrery::interpreter
