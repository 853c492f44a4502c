// Two stretches of a vector, without decay and with it, by the same loop. What is fused into one rounding is
// said by name, so that whole lanes and the last part of one round alike.
#include "kernels/cpu/optimizer/optimizer_step.h"

#include <cassert>
#include <cmath>

#include "kernels/lane_loop.h"
#include "kernels/lane_math.h"

namespace orrery::kernels {
namespace {

template <typename P, typename M, typename G, typename W>
bool fit(const OptimizerVectors<P, M, G, W>& v, bool needs_moment1, bool needs_moment2) {
  const std::int64_t count = v.dw.count();
  const auto fits = [&](const auto& m, bool needed) {
    return m.exists() ? m.contiguous() && m.count() == count : !needed;
  };
  return fits(v.dw, true) && fits(v.p, true) && fits(v.w, false) && fits(v.moment1, needs_moment1) &&
         fits(v.moment2, needs_moment2);
}

// [begin, end) of the vectors, with one decay.
template <typename P, typename M, typename G, typename W>
void adam_part(const OptimizerVectors<P, M, G, W>& v, std::int64_t begin, std::int64_t end, double decay,
               const OptimizerNumbers& n) {
  using Number = Wide<P>;
  const auto number = [](double x) { return all_lanes(static_cast<Number>(x)); };
  const double steps = static_cast<double>(n.step);
  const auto factor = number(n.gradient_factor), rate1 = number(1.0 - n.beta1), rate2 = number(1.0 - n.beta2);
  const auto step_size = number(n.learning_rate / (1.0 - std::pow(n.beta1, steps)));
  const auto root_scale = number(1.0 / std::sqrt(1.0 - std::pow(n.beta2, steps)));
  const auto epsilon = number(n.epsilon), shrink = number(1.0 - n.learning_rate * decay);
  P* const p = v.p.data + begin;
  M *const first = v.moment1.data + begin, *const second = v.moment2.data + begin;
  const G* const dw = v.dw.data + begin;
  W* const w = v.w.exists() ? v.w.data + begin : nullptr;
  for_lanes<P>(end - begin, [&](std::int64_t i, auto extent) {
    const auto g = load(dw + i, extent) * factor;
    auto m = load(first + i, extent), s = load(second + i, extent);
    m = multiply_add(rate1, g - m, m);
    s = multiply_add(rate2, multiply_add(g, g, -s), s);
    store(first + i, m, extent);
    store(second + i, s, extent);
    const auto move = step_size * m / multiply_add(square_root(s), root_scale, epsilon);
    const auto updated = multiply_add(load(p + i, extent), shrink, -move);
    store(p + i, updated, extent);
    if (w != nullptr) store(w + i, updated, extent);
  });
}

template <typename P, typename M, typename G, typename W>
void sgd_part(const OptimizerVectors<P, M, G, W>& v, std::int64_t begin, std::int64_t end, double decay,
              const OptimizerNumbers& n) {
  using Number = Wide<P>;
  const auto number = [](double x) { return all_lanes(static_cast<Number>(x)); };
  const auto factor = number(n.gradient_factor), momentum = number(n.beta1), rate = number(n.learning_rate);
  const auto shrink = number(1.0 - n.learning_rate * decay);
  P* const p = v.p.data + begin;
  M* const first = v.moment1.exists() ? v.moment1.data + begin : nullptr;
  const G* const dw = v.dw.data + begin;
  W* const w = v.w.exists() ? v.w.data + begin : nullptr;
  for_lanes<P>(end - begin, [&](std::int64_t i, auto extent) {
    auto g = load(dw + i, extent) * factor;
    if (first != nullptr) {
      g = multiply_add(momentum, load(first + i, extent), g);
      store(first + i, g, extent);
    }
    const auto updated = multiply_add(-rate, g, load(p + i, extent) * shrink);
    store(p + i, updated, extent);
    if (w != nullptr) store(w + i, updated, extent);
  });
}

}  // namespace

template <typename P, typename M, typename G, typename W>
void adam(const OptimizerVectors<P, M, G, W>& vectors, const FlatRange& range,
          const OptimizerNumbers& numbers) {
  assert(fit(vectors, true, true));
  const std::int64_t count = vectors.dw.count(), decayed = range.decayed_part(count);
  adam_part(vectors, 0, decayed, 0.0, numbers);
  adam_part(vectors, decayed, count, numbers.weight_decay, numbers);
}

template <typename P, typename M, typename G, typename W>
void sgd(const OptimizerVectors<P, M, G, W>& vectors, const FlatRange& range,
         const OptimizerNumbers& numbers) {
  assert(fit(vectors, false, false));
  const std::int64_t count = vectors.dw.count(), decayed = range.decayed_part(count);
  sgd_part(vectors, 0, decayed, 0.0, numbers);
  sgd_part(vectors, decayed, count, numbers.weight_decay, numbers);
}

#define ORRERY_ADAM(P, M, G, W) \
  template void adam(const OptimizerVectors<P, M, G, W>&, const FlatRange&, const OptimizerNumbers&)
#define ORRERY_SGD(P, M, G, W) \
  template void sgd(const OptimizerVectors<P, M, G, W>&, const FlatRange&, const OptimizerNumbers&)
ORRERY_ADAM(double, double, double, double);
ORRERY_SGD(double, double, double, double);
ORRERY_ADAM(float, float, float, float);
ORRERY_SGD(float, float, float, float);

// Of a 16-bit T: with master weights; without; and with float weights under 16-bit activations.
#define ORRERY_OPTIMIZERS(T)           \
  ORRERY_ADAM(float, float, float, T); \
  ORRERY_ADAM(float, float, T, T);     \
  ORRERY_ADAM(float, T, float, T);     \
  ORRERY_ADAM(float, T, T, T);         \
  ORRERY_ADAM(T, float, float, T);     \
  ORRERY_ADAM(T, float, T, T);         \
  ORRERY_ADAM(T, T, float, T);         \
  ORRERY_ADAM(T, T, T, T);             \
  ORRERY_ADAM(float, float, T, float); \
  ORRERY_ADAM(float, T, float, float); \
  ORRERY_ADAM(float, T, T, float);     \
  ORRERY_SGD(float, float, float, T);  \
  ORRERY_SGD(float, float, T, T);      \
  ORRERY_SGD(T, float, float, T);      \
  ORRERY_SGD(T, float, T, T);          \
  ORRERY_SGD(float, float, T, float)
ORRERY_OPTIMIZERS(bf16);
ORRERY_OPTIMIZERS(fp16);
#undef ORRERY_OPTIMIZERS
#undef ORRERY_SGD
#undef ORRERY_ADAM

}  // namespace orrery::kernels
