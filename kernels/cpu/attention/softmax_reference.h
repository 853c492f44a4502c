// The meaning of the softmax kernels: a row at a time, in double.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/cpu/attention/reference_put.h"
#include "kernels/cpu/attention/softmax.h"

namespace orrery::kernels::reference {

template <typename T>
void softmax_forward(const AttentionShape& a, In<T> x, Out<T> y) {
  for (std::int64_t r = 0; r < a.batch * a.heads * a.sequence; ++r) {
    const std::int64_t query = r % a.sequence, head = r / a.sequence % a.heads;
    std::vector<double> scores(static_cast<std::size_t>(a.visible_keys(query)));
    for (std::size_t key = 0; key < scores.size(); ++key) {
      const auto k = static_cast<std::int64_t>(key);
      scores[key] = value(x, r, k) + (a.alibi ? a.alibi_slope(head) * static_cast<double>(k - query) : 0.0);
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0.0;
    for (const double s : scores) sum += std::exp(s - largest);
    for (std::int64_t key = 0; key < a.sequence; ++key)
      put(y, r, key,
          key <= query || !a.causal ? std::exp(scores[static_cast<std::size_t>(key)] - largest) / sum : 0.0);
  }
}

template <typename T>
void softmax_backward(const AttentionShape& a, In<T> y, In<T> dy, Out<T> dx) {
  for (std::int64_t r = 0; r < a.batch * a.heads * a.sequence; ++r) {
    double inner = 0.0;
    for (std::int64_t key = 0; key < a.sequence; ++key) inner += value(y, r, key) * value(dy, r, key);
    for (std::int64_t key = 0; key < a.sequence; ++key)
      put(dx, r, key, value(y, r, key) * (value(dy, r, key) - inner));
  }
}

}  // namespace orrery::kernels::reference
