#include "kernels/cpu/experts/expert_rows.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace orrery::kernels {
namespace {

// Counting sort: place[i] of choice i, -1 without one.
const std::int64_t* places_of(In<std::int32_t> routes, std::int64_t experts) {
  thread_local std::vector<std::int64_t> next, place;
  next.assign(static_cast<std::size_t>(experts) + 1, 0);
  place.resize(static_cast<std::size_t>(routes.count()));
  for (std::int64_t t = 0; t < routes.rows; ++t)
    for (std::int64_t j = 0; j < routes.columns; ++j)
      if (const std::int32_t e = routes.at(t, j); e >= 0) ++next[static_cast<std::size_t>(e) + 1];
  for (std::size_t e = 1; e < next.size(); ++e) next[e] += next[e - 1];
  for (std::int64_t t = 0; t < routes.rows; ++t)
    for (std::int64_t j = 0; j < routes.columns; ++j) {
      const std::int32_t e = routes.at(t, j);
      place[static_cast<std::size_t>(t * routes.columns + j)] = e < 0 ? -1 : next[static_cast<std::size_t>(e)]++;
    }
  return place.data();
}

template <typename T>
void put(Out<T> y, std::int64_t row, std::int64_t column, Wide<T> value) {
  T& place = y.view.at(row, column);
  place = narrow<T>(y.adds ? widen(place) + value : value);
}

template <typename T>
void put_row(Out<T> y, std::int64_t row, const T* x) {
  if (!y.adds) {
    std::copy_n(x, y.view.columns, y.view.row(row));
    return;
  }
  for (std::int64_t c = 0; c < y.view.columns; ++c) put(y, row, c, widen(x[c]));
}

}  // namespace

template <typename T>
void permute_rows(In<T> x, In<std::int32_t> routes, std::int64_t experts, Out<T> y) {
  const std::int64_t* const place = places_of(routes, experts);
  for (std::int64_t t = 0; t < routes.rows; ++t)
    for (std::int64_t j = 0; j < routes.columns; ++j)
      if (const std::int64_t row = place[t * routes.columns + j]; row >= 0) put_row(y, row, x.row(t));
}

template <typename T>
void combine_rows(In<T> x, In<std::int32_t> routes, std::int64_t experts, In<Wide<T>> weights, Out<T> y) {
  using W = Wide<T>;
  const std::int64_t* const place = places_of(routes, experts);
  thread_local std::vector<W> sum;
  sum.resize(static_cast<std::size_t>(y.view.columns));
  for (std::int64_t t = 0; t < routes.rows; ++t) {
    std::fill(sum.begin(), sum.end(), W{0});
    for (std::int64_t j = 0; j < routes.columns; ++j) {
      const std::int64_t row = place[t * routes.columns + j];
      if (row < 0) continue;
      const W weight = weights.exists() ? weights.at(t, j) : W{1};
      const T* const from = x.row(row);
      for (std::int64_t c = 0; c < y.view.columns; ++c) sum[static_cast<std::size_t>(c)] += weight * widen(from[c]);
    }
    for (std::int64_t c = 0; c < y.view.columns; ++c) put(y, t, c, sum[static_cast<std::size_t>(c)]);
  }
}

template <typename T>
void combine_rows_backward(In<T> dy, In<T> x, In<std::int32_t> routes, std::int64_t experts, In<Wide<T>> weights,
                           Out<T> dx, Matrix<Wide<T>> dweights) {
  using W = Wide<T>;
  const std::int64_t* const place = places_of(routes, experts);
  for (std::int64_t t = 0; t < routes.rows; ++t)
    for (std::int64_t j = 0; j < routes.columns; ++j) {
      const std::int64_t row = place[t * routes.columns + j];
      W dot = 0;
      for (std::int64_t c = 0; row >= 0 && c < dy.columns; ++c) {
        const W d = widen(dy.at(t, c));
        dot += d * widen(x.at(row, c));
        put(dx, row, c, weights.at(t, j) * d);
      }
      dweights.at(t, j) = dot;
    }
}

template <typename T>
void sort_rows(std::span<const std::int64_t> lengths, std::int64_t experts, bool back, In<T> x, Out<T> y) {
  thread_local std::vector<std::int64_t> first;
  first.assign(static_cast<std::size_t>(experts) + 1, 0);
  for (std::size_t i = 0; i < lengths.size(); ++i) first[i % static_cast<std::size_t>(experts) + 1] += lengths[i];
  for (std::size_t e = 1; e < first.size(); ++e) first[e] += first[e - 1];
  std::int64_t by_sender = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::int64_t& by_expert = first[i % static_cast<std::size_t>(experts)];
    for (std::int64_t r = 0; r < lengths[i]; ++r, ++by_sender, ++by_expert)
      put_row(y, back ? by_sender : by_expert, x.row(back ? by_expert : by_sender));
  }
}

#define ORRERY_EXPERT_ROWS(T)                                                                                      \
  template void permute_rows(In<T>, In<std::int32_t>, std::int64_t, Out<T>);                                       \
  template void combine_rows(In<T>, In<std::int32_t>, std::int64_t, In<Wide<T>>, Out<T>);                          \
  template void combine_rows_backward(In<T>, In<T>, In<std::int32_t>, std::int64_t, In<Wide<T>>, Out<T>,           \
                                      Matrix<Wide<T>>);                                                            \
  template void sort_rows(std::span<const std::int64_t>, std::int64_t, bool, In<T>, Out<T>)
ORRERY_EXPERT_ROWS(double);
ORRERY_EXPERT_ROWS(float);
ORRERY_EXPERT_ROWS(bf16);
ORRERY_EXPERT_ROWS(fp16);
#undef ORRERY_EXPERT_ROWS

}  // namespace orrery::kernels
