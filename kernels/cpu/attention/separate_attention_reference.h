// The meaning of the separate kernels: every pair of query and key, in double.
#pragma once

#include <vector>

#include "kernels/cpu/attention/reference_put.h"
#include "kernels/cpu/attention/separate_attention.h"

namespace orrery::kernels::reference {

// One pair: rows of its query and key, first columns of their heads, place of its score.
struct Pair {
  std::int64_t query_row, key_row, query_column, key_column, score_row, score_column;
};

template <typename Visit>
void for_each_pair(const AttentionShape& a, Visit&& visit) {
  for (std::int64_t j = 0; j < a.batch; ++j)
    for (std::int64_t h = 0; h < a.heads; ++h)
      for (std::int64_t query = 0; query < a.sequence; ++query)
        for (std::int64_t key = 0; key < a.sequence; ++key)
          visit(Pair{query * a.batch + j, key * a.batch + j, h * a.head_dim, h / a.group() * a.head_dim,
                     a.score_row(j, h, query), key});
}

// y[score] = factor * (row of left) . (row of right)
template <typename T>
void dot_pairs(const AttentionShape& a, In<T> left, In<T> right, double factor, Out<T> y) {
  for_each_pair(a, [&](const Pair& p) {
    double dot = 0.0;
    for (std::int64_t i = 0; i < a.head_dim; ++i)
      dot += value(left, p.query_row, p.query_column + i) * value(right, p.key_row, p.key_column + i);
    put(y, p.score_row, p.score_column, dot * factor);
  });
}

// y[a row] += factor * x[score] * (the other row), summed in double.
template <typename T>
void sum_pairs(const AttentionShape& a, bool to_keys, In<T> x, In<T> from, double factor, Out<T> y) {
  std::vector<double> sums(static_cast<std::size_t>(y.view.count()));
  for_each_pair(a, [&](const Pair& p) {
    const std::int64_t to_row = to_keys ? p.key_row : p.query_row,
                       to = to_keys ? p.key_column : p.query_column;
    const std::int64_t from_row = to_keys ? p.query_row : p.key_row,
                       at = to_keys ? p.query_column : p.key_column;
    for (std::int64_t i = 0; i < a.head_dim; ++i)
      sums[static_cast<std::size_t>(to_row * y.view.columns + to + i)] +=
          factor * value(x, p.score_row, p.score_column) * value(from, from_row, at + i);
  });
  for (std::int64_t r = 0; r < y.view.rows; ++r)
    for (std::int64_t c = 0; c < y.view.columns; ++c)
      put(y, r, c, sums[static_cast<std::size_t>(r * y.view.columns + c)]);
}

template <typename T>
void attention_scores(const AttentionShape& a, In<T> q, In<T> k, Out<T> y) {
  dot_pairs(a, q, k, a.scale(), y);
}
template <typename T>
void attention_context(const AttentionShape& a, In<T> x, In<T> v, Out<T> o) {
  sum_pairs(a, false, x, v, 1.0, o);
}
template <typename T>
void attention_dprobabilities(const AttentionShape& a, In<T> dout, In<T> v, Out<T> dx) {
  dot_pairs(a, dout, v, 1.0, dx);
}
template <typename T>
void attention_dvalue(const AttentionShape& a, In<T> x, In<T> dout, Out<T> dv) {
  sum_pairs(a, true, x, dout, 1.0, dv);
}
template <typename T>
void attention_dquery(const AttentionShape& a, In<T> x, In<T> k, Out<T> dq) {
  sum_pairs(a, false, x, k, a.scale(), dq);
}
template <typename T>
void attention_dkey(const AttentionShape& a, In<T> x, In<T> q, Out<T> dk) {
  sum_pairs(a, true, x, q, a.scale(), dk);
}

}  // namespace orrery::kernels::reference
