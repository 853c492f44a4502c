#include "tests/interpreter/kernels_optimizer.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "base/check.h"

namespace orrery::interpreter {

double clip_factor(const schedule::Hyper& hyper, double norm_squared) {
  if (hyper.clip_gradient_norm <= 0.0) return 1.0;
  return std::min(1.0, hyper.clip_gradient_norm / (std::sqrt(norm_squared) + 1e-6));
}

double squared_norm(ConstView x, const FlatRange& range, bool counts_replicated) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < x.count(); ++i)
    if (counts_replicated || !range.replicated(i)) sum += x[i] * x[i];
  return sum;
}

void adam(const OptimizerState& state, const FlatRange& range, const schedule::Hyper& hyper) {
  CHECK(state.moment1 && state.moment2, "adam needs two moments");
  CHECK(state.master.count() == state.dw.count(), state.master.count(), state.dw.count());
  CHECK(state.moment1->count() == state.dw.count() && state.moment2->count() == state.dw.count(), state.dw.count());
  if (state.w) CHECK(state.w->view.count() == state.dw.count(), state.w->view.count(), state.dw.count());
  const double correction1 = 1.0 - std::pow(hyper.beta1, static_cast<double>(state.step));
  const double correction2 = 1.0 - std::pow(hyper.beta2, static_cast<double>(state.step));
  for (std::int64_t i = 0; i < state.dw.count(); ++i) {
    const double g = state.dw[i] * state.gradient_factor;
    double& m = (*state.moment1)[i];
    double& v = (*state.moment2)[i];
    double& p = state.master[i];
    m = hyper.beta1 * m + (1.0 - hyper.beta1) * g;
    v = hyper.beta2 * v + (1.0 - hyper.beta2) * g * g;
    const double step = m / correction1 / (std::sqrt(v / correction2) + hyper.epsilon);
    p -= hyper.learning_rate * (step + (range.decayed(i) ? hyper.weight_decay * p : 0.0));
    if (state.w) state.w->view[i] = p;
  }
}

void sgd(const OptimizerState& state, const FlatRange& range, const schedule::Hyper& hyper) {
  CHECK(state.master.count() == state.dw.count(), state.master.count(), state.dw.count());
  if (state.w) CHECK(state.w->view.count() == state.dw.count(), state.w->view.count(), state.dw.count());
  for (std::int64_t i = 0; i < state.dw.count(); ++i) {
    double g = state.dw[i] * state.gradient_factor;
    if (state.moment1) g = (*state.moment1)[i] = hyper.beta1 * (*state.moment1)[i] + g;
    double& p = state.master[i];
    p -= hyper.learning_rate * (g + (range.decayed(i) ? hyper.weight_decay * p : 0.0));
    if (state.w) state.w->view[i] = p;
  }
}

void top_k_select(ConstView x, TensorView y) {
  const std::int64_t k = y.count() / 2;
  CHECK(k >= 1 && k <= x.count(), k, x.count());
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.count()));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return std::abs(x[a]) > std::abs(x[b]); });
  for (std::int64_t i = 0; i < k; ++i) {
    y[i] = x[order[static_cast<std::size_t>(i)]];
    y[k + i] = static_cast<double>(order[static_cast<std::size_t>(i)]);
  }
}

void top_k_keep_rest(ConstView selected, TensorView x) {
  const std::int64_t k = selected.count() / 2;
  for (std::int64_t i = 0; i < k; ++i) x[static_cast<std::int64_t>(selected[k + i])] = 0.0;
}

void top_k_apply(ConstView x, std::int64_t first, TensorView y) {
  const std::int64_t k = x.columns;
  CHECK(k >= 1 && x.rows % 2 == 0, x.rows, k);
  for (std::int64_t block = 0; block < x.rows; block += 2)
    for (std::int64_t i = 0; i < k; ++i) {
      const auto at = static_cast<std::int64_t>(x.at(block + 1, i)) - first;
      if (at >= 0 && at < y.count()) y[at] += x.at(block, i);
    }
}

}  // namespace orrery::interpreter
