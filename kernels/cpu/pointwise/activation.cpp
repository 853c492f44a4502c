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

// With e = exp(-2u), s = 1 / (1 + e) = (1 + tanh u) / 2: gelu = x s, gelu' = s + 2 x s (1 - s) u', and 1 - s = e s. Beyond
// |x| = 10 (20) s is 0 or 1 to the type's precision; x is cut there so that e is finite.
struct Gelu {
  template <typename V>
  ORRERY_ALWAYS_INLINE static V cut(V x) {
    using Number = std::remove_cvref_t<decltype(x[0])>;
    const V flat = all_lanes(std::is_same_v<Number, float> ? Number(10) : Number(20));
    x = x > flat ? flat : x;
    return x < -flat ? -flat : x;
  }
  template <typename V>
  ORRERY_ALWAYS_INLINE static V exp_of_minus_twice_u(V x) {
    using Number = std::remove_cvref_t<decltype(x[0])>;
    return exponential(-x * (kTwiceRoot<Number> + kTwiceRoot<Number> * kCubic<Number> * (x * x)));
  }
  template <typename V>
  ORRERY_ALWAYS_INLINE static V value(V x) {
    using Number = std::remove_cvref_t<decltype(x[0])>;
    return x / (Number(1) + exp_of_minus_twice_u(cut(x)));
  }
  template <typename V>
  ORRERY_ALWAYS_INLINE static ValueAndSlope<V> both(V x) {
    using Number = std::remove_cvref_t<decltype(x[0])>;
    const V near = cut(x), e = exp_of_minus_twice_u(near);
    const V s = Number(1) / (Number(1) + e), rest = e * s;
    const V twice_slope = kTwiceRoot<Number> + Number(3) * kTwiceRoot<Number> * kCubic<Number> * (near * near);
    return {x * s, s + near * s * rest * twice_slope};
  }
  template <typename Number>
  static constexpr auto kTwiceRoot = static_cast<Number>(1.5957691216057308);  // 2 sqrt(2 / pi)
  template <typename Number>
  static constexpr auto kCubic = static_cast<Number>(0.044715);
};

struct Silu {
  template <typename V>
  ORRERY_ALWAYS_INLINE static V value(V x) {
    using Number = std::remove_cvref_t<decltype(x[0])>;
    return x / (Number(1) + exponential(-x));
  }
  template <typename V>
  ORRERY_ALWAYS_INLINE static ValueAndSlope<V> both(V x) {
    using Number = std::remove_cvref_t<decltype(x[0])>;
    const V s = Number(1) / (Number(1) + exponential(-x));
    return {x * s, s + x * s * (Number(1) - s)};
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
    case Activation::gelu: return forward<Gelu, false>(x, bias, y);
    case Activation::relu: return forward<Relu, false>(x, bias, y);
    case Activation::squared_relu: return forward<SquaredRelu, false>(x, bias, y);
    case Activation::swiglu: return forward<Silu, true>(x, bias, y);
    case Activation::geglu: return forward<Gelu, true>(x, bias, y);
  }
}

template <typename T, typename G>
void activation_backward(Activation activation, In<T> dy, In<T> x, In<T> bias, Out<T> dx, Out<G> dbias) {
  switch (activation) {
    case Activation::gelu: return backward<Gelu, false>(dy, x, bias, dx, dbias);
    case Activation::relu: return backward<Relu, false>(dy, x, bias, dx, dbias);
    case Activation::squared_relu: return backward<SquaredRelu, false>(dy, x, bias, dx, dbias);
    case Activation::swiglu: return backward<Silu, true>(dy, x, bias, dx, dbias);
    case Activation::geglu: return backward<Gelu, true>(dy, x, bias, dx, dbias);
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
