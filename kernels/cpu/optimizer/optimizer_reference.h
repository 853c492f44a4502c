// The optimizer kernels as plain loops in double, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/cpu/optimizer/gradient_norm.h"
#include "kernels/cpu/optimizer/optimizer_step.h"

namespace orrery::kernels::reference {

template <typename T>
double value_of(T x) {
  return static_cast<double>(widen(x));
}

template <typename G>
double squared_norm(In<G> x, const FlatRange& range, bool counts_replicated) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const std::int64_t at = range.first + i;
    const bool replicated = at < range.replicated_until || (at >= range.replicated_from && at < range.used);
    if (counts_replicated || !replicated) sum += value_of(x.data[i]) * value_of(x.data[i]);
  }
  return sum;
}

template <typename T>
void set(T& to, double value) {
  to = narrow<T>(static_cast<Wide<T>>(value));
}

// The decay of element i.
inline double decay_of(const FlatRange& range, const OptimizerNumbers& n, std::int64_t i) {
  return range.first + i >= range.decay_from ? n.weight_decay : 0.0;
}

template <typename P, typename M, typename G, typename W>
void adam(const OptimizerVectors<P, M, G, W>& v, const FlatRange& range, const OptimizerNumbers& n) {
  const double correction1 = 1.0 - std::pow(n.beta1, static_cast<double>(n.step));
  const double correction2 = 1.0 - std::pow(n.beta2, static_cast<double>(n.step));
  for (std::int64_t i = 0; i < v.dw.count(); ++i) {
    const double g = value_of(v.dw.data[i]) * n.gradient_factor;
    const double m = n.beta1 * value_of(v.moment1.data[i]) + (1.0 - n.beta1) * g;
    const double s = n.beta2 * value_of(v.moment2.data[i]) + (1.0 - n.beta2) * g * g;
    const double p = value_of(v.p.data[i]);
    const double move =
        m / correction1 / (std::sqrt(s / correction2) + n.epsilon) + decay_of(range, n, i) * p;
    set(v.moment1.data[i], m);
    set(v.moment2.data[i], s);
    set(v.p.data[i], p - n.learning_rate * move);
    if (v.w.exists()) set(v.w.data[i], p - n.learning_rate * move);
  }
}

template <typename P, typename M, typename G, typename W>
void sgd(const OptimizerVectors<P, M, G, W>& v, const FlatRange& range, const OptimizerNumbers& n) {
  for (std::int64_t i = 0; i < v.dw.count(); ++i) {
    double g = value_of(v.dw.data[i]) * n.gradient_factor;
    if (v.moment1.exists()) {
      g += n.beta1 * value_of(v.moment1.data[i]);
      set(v.moment1.data[i], g);
    }
    const double p = value_of(v.p.data[i]);
    const double updated = p - n.learning_rate * (g + decay_of(range, n, i) * p);
    set(v.p.data[i], updated);
    if (v.w.exists()) set(v.w.data[i], updated);
  }
}

// The indices of the k largest |x|, largest first, of equal ones the lower index.
template <typename G>
std::vector<std::int64_t> largest(In<G> x, std::int64_t k) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.count()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return std::abs(value_of(x.data[a])) > std::abs(value_of(x.data[b]));
  });
  order.resize(static_cast<std::size_t>(k));
  return order;
}

}  // namespace orrery::kernels::reference
