// One loop for each curve, chosen outside the rows. Slopes come from the same exponential as the value.
#include "kernels/cpu/pointwise/activation.h"

#include <cassert>

#include "kernels/cpu/pointwise/column_sums.h"
#include "kernels/lane_loop.h"
#include "kernels/lane_math.h"

namespace orrery::kernels {
namespace {

template <typename V>
struct ValueAndSlope {
  V value, slope;
};

// Both curves are x s(z) with s(z) = 1 / (1 + e), e = exp(-z), 1 - s = e s. x is cut where s is 0 or 1 to the
// type's precision, so that e stays finite and needs no care at its ends: below for the factor x too, above
// for z only.
template <typename V>
ORRERY_ALWAYS_INLINE V not_below(V x, double least) {
  return maximum(all_lanes(static_cast<std::remove_cvref_t<decltype(x[0])>>(least)), x);
}
template <typename V>
ORRERY_ALWAYS_INLINE V not_above(V x, double most) {
  return minimum(all_lanes(static_cast<std::remove_cvref_t<decltype(x[0])>>(most)), x);
}

template <typename V>
struct Sigmoid {
  V s, rest;
};
template <typename V>
ORRERY_ALWAYS_INLINE Sigmoid<V> sigmoid_of_minus(V minus_z) {
  using Number = std::remove_cvref_t<decltype(minus_z[0])>;
  const V e = exponential_near(minus_z), s = Number(1) / (Number(1) + e);
  return {s, e * s};
}
template <typename V>
ORRERY_ALWAYS_INLINE V divided_by_one_plus_exp(V x, V minus_z) {
  using Number = std::remove_cvref_t<decltype(x[0])>;
  return x / (Number(1) + exponential_near(minus_z));
}

// z = 2u, z' = 2u'. At |x| = 9.9 z is 85.
struct Gelu {
  static constexpr double kCut = 9.9, kSlope = 1.5957691216057308,
                          kCubic = kSlope * 0.044715;  // 2 sqrt(2 / pi)
  template <typename V>
  ORRERY_ALWAYS_INLINE static V minus_z(V x) {
    using Number = std::remove_cvref_t<decltype(x[0])>;
    return x * (x * x * Number(-kCubic) - Number(kSlope));
  }
  template <typename V>
  ORRERY_ALWAYS_INLINE static V value(V x) {
    x = not_below(x, -kCut);
    return divided_by_one_plus_exp(x, minus_z(not_above(x, kCut)));
  }
  template <typename V>
  ORRERY_ALWAYS_INLINE static ValueAndSlope<V> both(V x) {
    using Number = std::remove_cvref_t<decltype(x[0])>;
    x = not_below(x, -kCut);
    const V near = not_above(x, kCut);
    const auto [s, rest] = sigmoid_of_minus(minus_z(near));
    return {x * s, near * (near * near * Number(3.0 * kCubic) + Number(kSlope)) * (s * rest) + s};
  }
};

// z = x
struct Silu {
  static constexpr double kCut = 85.0;
  template <typename V>
  ORRERY_ALWAYS_INLINE static V value(V x) {
    x = not_below(x, -kCut);
    return divided_by_one_plus_exp(x, -not_above(x, kCut));
  }
  template <typename V>
  ORRERY_ALWAYS_INLINE static ValueAndSlope<V> both(V x) {
    x = not_below(x, -kCut);
    const V near = not_above(x, kCut);
    const auto [s, rest] = sigmoid_of_minus(-near);
    return {x * s, near * (s * rest) + s};
  }
};

struct Relu {
  template <typename V>
  ORRERY_ALWAYS_INLINE static V value(V x) {
    return x > V{} ? x : V{};
  }
  template <typename V>
  ORRERY_ALWAYS_INLINE static ValueAndSlope<V> both(V x) {
    using Number = std::remove_cvref_t<decltype(x[0])>;
    return {value(x), x > V{} ? all_lanes(Number(1)) : V{}};
  }
};

struct SquaredRelu {
  template <typename V>
  ORRERY_ALWAYS_INLINE static V value(V x) {
    const V positive = Relu::value(x);
    return positive * positive;
  }
  template <typename V>
  ORRERY_ALWAYS_INLINE static ValueAndSlope<V> both(V x) {
    const V positive = Relu::value(x);
    return {positive * positive, positive + positive};
  }
};

// Where the two halves of a bias lie; null: none.
template <typename T>
struct Bias {
  const T* gate = nullptr;  // also of what is not gated
  const T* up = nullptr;
};

template <typename T>
Bias<T> halves(In<T> bias, std::int64_t f, std::int64_t columns) {
  if (!bias.exists()) return {};
  assert(bias.contiguous() && (bias.count() == f || bias.count() == columns));
  if (bias.count() == columns) return {bias.data, columns == f ? nullptr : bias.data + f};
  return {nullptr, bias.data};
}

template <typename Curve, bool kGated, typename T>
void forward(In<T> x, In<T> bias, Out<T> y) {
  const std::int64_t f = y.view.columns;
  assert(x.rows == y.view.rows && x.columns == (kGated ? 2 * f : f));
  const Bias<T> b = halves(bias, f, x.columns);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const T* const gate = x.row(r);
    T* const to = y.view.row(r);
    for_lanes<T>(f, [&](std::int64_t i, auto extent) {
      fetch_ahead(gate, i);
      if constexpr (kGated) fetch_ahead(gate, f + i);
      auto value = Curve::value(load(gate + i, extent) + load_or_zero(b.gate, i, extent));
      if constexpr (kGated) value *= load(gate + f + i, extent) + load_or_zero(b.up, i, extent);
      put(to + i, value, y.adds, extent);
    });
  }
}

template <typename Curve, bool kGated, typename T, typename G>
void backward(In<T> dy, In<T> x, In<T> bias, Out<T> dx, Out<G> dbias) {
  const std::int64_t f = dy.columns;
  assert(x.rows == dy.rows && x.columns == (kGated ? 2 * f : f));
  assert(dx.view.rows == x.rows && dx.view.columns == x.columns);
  const Bias<T> b = halves(bias, f, x.columns);
  ColumnSums<T, G> sums(dbias, x.columns);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const T *const from = dy.row(r), *const gate = x.row(r);
    T* const to = dx.view.row(r);
    for_lanes<T>(f, [&](std::int64_t i, auto extent) {
      fetch_ahead(from, i);
      fetch_ahead(gate, i);
      if constexpr (kGated) fetch_ahead(gate, f + i);
      const auto at = Curve::both(load(gate + i, extent) + load_or_zero(b.gate, i, extent));
      const auto d = load(from + i, extent);
      auto dgate = d * at.slope;
      if constexpr (kGated) {
        dgate *= load(gate + f + i, extent) + load_or_zero(b.up, i, extent);
        const auto dup = d * at.value;
        sums.add(f + i, dup, extent);
        put(to + f + i, dup, dx.adds, extent);
      }
      sums.add(i, dgate, extent);
      put(to + i, dgate, dx.adds, extent);
    });
  }
  sums.write();
}

}  // namespace

template <typename T>
void activation_forward(Activation activation, In<T> x, In<T> bias, Out<T> y) {
  switch (activation) {
    case Activation::gelu:
      return forward<Gelu, false>(x, bias, y);
    case Activation::relu:
      return forward<Relu, false>(x, bias, y);
    case Activation::squared_relu:
      return forward<SquaredRelu, false>(x, bias, y);
    case Activation::swiglu:
      return forward<Silu, true>(x, bias, y);
    case Activation::geglu:
      return forward<Gelu, true>(x, bias, y);
  }
}

template <typename T, typename G>
void activation_backward(Activation activation, In<T> dy, In<T> x, In<T> bias, Out<T> dx, Out<G> dbias) {
  switch (activation) {
    case Activation::gelu:
      return backward<Gelu, false>(dy, x, bias, dx, dbias);
    case Activation::relu:
      return backward<Relu, false>(dy, x, bias, dx, dbias);
    case Activation::squared_relu:
      return backward<SquaredRelu, false>(dy, x, bias, dx, dbias);
    case Activation::swiglu:
      return backward<Silu, true>(dy, x, bias, dx, dbias);
    case Activation::geglu:
      return backward<Gelu, true>(dy, x, bias, dx, dbias);
  }
}

template void activation_forward(Activation, In<double>, In<double>, Out<double>);
template void activation_forward(Activation, In<float>, In<float>, Out<float>);
template void activation_forward(Activation, In<bf16>, In<bf16>, Out<bf16>);
template void activation_forward(Activation, In<fp16>, In<fp16>, Out<fp16>);

#define ORRERY_BACKWARD(T, G) \
  template void activation_backward(Activation, In<T>, In<T>, In<T>, Out<T>, Out<G>)
ORRERY_BACKWARD(double, double);
ORRERY_BACKWARD(float, float);
ORRERY_BACKWARD(bf16, bf16);
ORRERY_BACKWARD(bf16, float);
ORRERY_BACKWARD(fp16, fp16);
ORRERY_BACKWARD(fp16, float);
#undef ORRERY_BACKWARD

}  // namespace orrery::kernels
