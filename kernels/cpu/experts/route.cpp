#include "kernels/cpu/experts/route.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace orrery::kernels {
namespace {

template <typename W>
struct Scratch {
  std::vector<W> scores, choice, group, gradient;
  std::vector<std::int32_t> order, taken;
};
template <typename W>
Scratch<W>& scratch_of_thread() {
  thread_local Scratch<W> scratch;
  return scratch;
}

template <typename T>
void score(const Routing& routing, const T* x, std::int64_t experts, Wide<T>* s) {
  using W = Wide<T>;
  if (routing.sigmoid) {
    for (std::int64_t e = 0; e < experts; ++e) s[e] = W{1} / (W{1} + std::exp(-widen(x[e])));
    return;
  }
  W largest = widen(x[0]), sum = 0;
  for (std::int64_t e = 1; e < experts; ++e) largest = std::max(largest, widen(x[e]));
  for (std::int64_t e = 0; e < experts; ++e) sum += s[e] = std::exp(widen(x[e]) - largest);
  for (std::int64_t e = 0; e < experts; ++e) s[e] /= sum;
}

// The n first of `order` become the indices of the n largest values.
template <typename W>
void largest_first(const std::vector<W>& values, std::int64_t n, std::vector<std::int32_t>& order) {
  order.resize(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + n, order.end(), [&](std::int32_t a, std::int32_t b) {
    const W va = values[static_cast<std::size_t>(a)], vb = values[static_cast<std::size_t>(b)];
    return va > vb || (!(vb > va) && a < b);
  });
}

// Takes the experts of all but the best groups out of the choice.
template <typename W>
void keep_best_groups(const Routing& routing, Scratch<W>& s) {
  const std::size_t groups = static_cast<std::size_t>(routing.groups), size = s.choice.size() / groups;
  s.group.assign(groups, 0);
  for (std::size_t g = 0; g < groups; ++g) {
    W best = -std::numeric_limits<W>::infinity(), second = best;
    for (std::size_t e = g * size; e < (g + 1) * size; ++e) {
      if (s.choice[e] > best) {
        second = best;
        best = s.choice[e];
      } else {
        second = std::max(second, s.choice[e]);
      }
    }
    s.group[g] = routing.sigmoid && size > 1 ? best + second : best;
  }
  largest_first(s.group, routing.top_groups, s.order);
  std::vector<W>& kept = s.gradient;  // free here
  kept.assign(s.choice.size(), -std::numeric_limits<W>::infinity());
  for (std::int64_t i = 0; i < routing.top_groups; ++i) {
    const std::size_t first = static_cast<std::size_t>(s.order[static_cast<std::size_t>(i)]) * size;
    for (std::size_t e = first; e < first + size; ++e) kept[e] = s.choice[e];
  }
  s.choice.swap(kept);
}

}  // namespace

template <typename T>
void route_forward(const Routing& routing, In<T> x, In<T> bias, Matrix<Wide<T>> weights, Matrix<std::int32_t> routes,
                   Matrix<std::int32_t> counts) {
  using W = Wide<T>;
  const std::int64_t experts = x.columns, k = routing.top_k;
  Scratch<W>& s = scratch_of_thread<W>();
  s.scores.resize(static_cast<std::size_t>(experts));
  s.taken.assign(static_cast<std::size_t>(experts), 0);
  for (std::int64_t t = 0; t < x.rows; ++t) {
    score<T>(routing, x.row(t), experts, s.scores.data());
    s.choice = s.scores;
    for (std::int64_t e = 0; bias.exists() && e < experts; ++e)
      s.choice[static_cast<std::size_t>(e)] += widen(bias.data[e]);
    if (routing.top_groups < routing.groups) keep_best_groups(routing, s);
    largest_first(s.choice, k, s.order);
    W sum = 0;
    for (std::int64_t j = 0; j < k; ++j)
      sum += s.scores[static_cast<std::size_t>(s.order[static_cast<std::size_t>(j)])];
    for (std::int64_t j = 0; j < k; ++j) {
      const std::int32_t e = s.order[static_cast<std::size_t>(j)];
      const W chosen = s.scores[static_cast<std::size_t>(e)];
      weights.at(t, j) = static_cast<W>(routing.scale) * (routing.normalized ? chosen / sum : chosen);
      std::int32_t& taken = s.taken[static_cast<std::size_t>(e)];
      const bool has_room = routing.capacity == 0 || taken < routing.capacity;
      routes.at(t, j) = has_room ? e : -1 - e;
      if (has_room) ++taken;
    }
  }
  std::copy(s.taken.begin(), s.taken.end(), counts.data);
}

// With p = s / sum over the chosen, w = scale p: ds_j = scale (dw_j - sum_i dw_i p_i) / sum; then through the scores.
template <typename T>
void route_backward(const Routing& routing, In<Wide<T>> dweights, In<T> x, In<std::int32_t> routes, Out<T> dx) {
  using W = Wide<T>;
  const std::int64_t experts = x.columns, k = routing.top_k;
  Scratch<W>& s = scratch_of_thread<W>();
  s.scores.resize(static_cast<std::size_t>(experts));
  for (std::int64_t t = 0; t < x.rows; ++t) {
    score<T>(routing, x.row(t), experts, s.scores.data());
    s.gradient.assign(static_cast<std::size_t>(experts), 0);
    const auto expert = [&](std::int64_t j) {
      const std::int32_t e = routes.at(t, j);
      return static_cast<std::size_t>(e < 0 ? -1 - e : e);
    };
    W sum = 0, inner = 0, mean = 0;
    for (std::int64_t j = 0; j < k; ++j) sum += s.scores[expert(j)];
    for (std::int64_t j = 0; j < k; ++j) inner += dweights.at(t, j) * s.scores[expert(j)] / sum;
    for (std::int64_t j = 0; j < k; ++j)
      s.gradient[expert(j)] = static_cast<W>(routing.scale) *
                              (routing.normalized ? (dweights.at(t, j) - inner) / sum : dweights.at(t, j));
    for (std::size_t e = 0; e < s.scores.size(); ++e) mean += s.gradient[e] * s.scores[e];
    for (std::int64_t e = 0; e < experts; ++e) {
      const W p = s.scores[static_cast<std::size_t>(e)], g = s.gradient[static_cast<std::size_t>(e)];
      const W d = routing.sigmoid ? g * p * (W{1} - p) : p * (g - mean);
      T& place = dx.view.at(t, e);
      place = narrow<T>(dx.adds ? widen(place) + d : d);
    }
  }
}

#define ORRERY_ROUTE(T)                                                                                       \
  template void route_forward(const Routing&, In<T>, In<T>, Matrix<Wide<T>>, Matrix<std::int32_t>,             \
                              Matrix<std::int32_t>);                                                           \
  template void route_backward(const Routing&, In<Wide<T>>, In<T>, In<std::int32_t>, Out<T>)
ORRERY_ROUTE(double);
ORRERY_ROUTE(float);
ORRERY_ROUTE(bf16);
ORRERY_ROUTE(fp16);
#undef ORRERY_ROUTE

}  // namespace orrery::kernels
