// exp, square root, fused multiply-add, minimum and maximum of lanes (kernels/convert.h).
//
// exp(x): n = round(x / ln 2), r = x - n ln 2, exp(r) by a polynomial, |r| <= ln(2) / 2, then times 2^n
// through the exponent bits. ln 2 is cut in two so that n times its upper part is exact (Cody, Waite 1980).
// The polynomial is in double Taylor's of degree 13 (0.35^14 / 14! = 4e-18), in float one of degree 6, found
// by exchange (Remez 1934) for the smallest relative error with exp(0) = 1 held: 2e-8 once its coefficients
// are floats. Measured: relative error at most 1.0e-7 in float, 0.7 units in the last place in double.
// Results below the smallest normal numbers, within a factor of two, are 0; infinities and NaN come out as
// exp defines them.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#ifdef __AVX__
#include <immintrin.h>
#endif

#include "kernels/convert.h"

namespace orrery::kernels {

// The minimum, and the maximum, of each lane's two; the second where one is NaN.
ORRERY_ALWAYS_INLINE FloatLanes minimum(FloatLanes a, FloatLanes b) {
#ifdef __AVX__
  return (FloatLanes)_mm256_min_ps((__m256)a, (__m256)b);
#else
  return a < b ? a : b;
#endif
}
ORRERY_ALWAYS_INLINE DoubleLanes minimum(DoubleLanes a, DoubleLanes b) {
#ifdef __AVX__
  return (DoubleLanes)_mm256_min_pd((__m256d)a, (__m256d)b);
#else
  return a < b ? a : b;
#endif
}
ORRERY_ALWAYS_INLINE FloatLanes maximum(FloatLanes a, FloatLanes b) {
#ifdef __AVX__
  return (FloatLanes)_mm256_max_ps((__m256)a, (__m256)b);
#else
  return a > b ? a : b;
#endif
}
ORRERY_ALWAYS_INLINE DoubleLanes maximum(DoubleLanes a, DoubleLanes b) {
#ifdef __AVX__
  return (DoubleLanes)_mm256_max_pd((__m256d)a, (__m256d)b);
#else
  return a > b ? a : b;
#endif
}

namespace lanes_detail {

using Bits64 = std::uint64_t __attribute__((vector_size(32)));

// 1 / i!
constexpr std::array<double, 14> taylor_series() {
  std::array<double, 14> terms{1.0};
  double factorial = 1.0;
  for (std::size_t i = 1; i < terms.size(); ++i) {
    factorial *= static_cast<double>(i);
    terms[i] = 1.0 / factorial;
  }
  return terms;
}

template <typename V>
struct ExpConstants;
template <>
struct ExpConstants<FloatLanes> {
  using Number = float;
  using Bits = Bits32;
  static constexpr float kLowest = -86.9F, kHighest = 89.0F;
  static constexpr float kRound = 0x1.8p23F;  // adding it leaves a rounded integer in the lowest bits
  static constexpr float kBias = 127.0F;      // of exponents
  static constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;  // Cephes, expf.c
  static constexpr int kMantissa = 23;
  static constexpr std::array kSeries{
      1.0F, 1.0F, 0.5000000436F, 0.1666636481F, 0.04166477332F, 0.008379059037F, 0.001406142209F};
};
template <>
struct ExpConstants<DoubleLanes> {
  using Number = double;
  using Bits = Bits64;
  static constexpr double kLowest = -707.6, kHighest = 710.0;
  static constexpr double kRound = 0x1.8p52, kBias = 1023.0;
  static constexpr double kLn2High = 6.93147180369123816490e-01,
                          kLn2Low = 1.90821492927058770002e-10;  // fdlibm, e_exp.c
  static constexpr int kMantissa = 52;
  static constexpr std::array kSeries = taylor_series();
};

template <typename V>
struct ExpParts {
  V of_rest;  // exp(r)
  V scale;    // 2^(n + shift)
};

template <typename V>
ORRERY_ALWAYS_INLINE ExpParts<V> exponential_parts(V x, int shift) {
  using C = ExpConstants<V>;
  using Number = typename C::Number;
  using Bits = typename C::Bits;
  const Number round = C::kRound + C::kBias + static_cast<Number>(shift);
  const V shifted = x * static_cast<Number>(1.4426950408889634) + round;
  const V n = shifted - round;
  const V r = (x - n * C::kLn2High) - n * C::kLn2Low;
  V sum = all_lanes(C::kSeries.back());
  for (std::size_t i = C::kSeries.size() - 1; i-- > 0;) sum = sum * r + C::kSeries[i];
  return {sum, (V)((Bits)shifted << C::kMantissa)};
}

template <typename V>
ORRERY_ALWAYS_INLINE V exponential(V x) {
  using C = ExpConstants<V>;
  using Bits = typename C::Bits;
  const auto below = (Bits)(x < C::kLowest);
  // 2^(n - 1), times 2: 2^n itself has no exponent bits for the largest results.
  const ExpParts<V> parts = exponential_parts(minimum(all_lanes(C::kHighest), x), -1);
  return (V)((Bits)((parts.of_rest + parts.of_rest) * parts.scale) & ~below);
}

}  // namespace lanes_detail

ORRERY_ALWAYS_INLINE FloatLanes exponential(FloatLanes x) { return lanes_detail::exponential(x); }
ORRERY_ALWAYS_INLINE DoubleLanes exponential(DoubleLanes x) { return lanes_detail::exponential(x); }

// The same for |x| <= 87 only.
template <typename V>
ORRERY_ALWAYS_INLINE V exponential_near(V x) {
  const auto parts = lanes_detail::exponential_parts(x, 0);
  return parts.of_rest * parts.scale;
}

// a b + c with one rounding where the CPU can, always in this way. Of x y + z w a compiler may fuse either
// product, and differently in two copies of one loop.
ORRERY_ALWAYS_INLINE FloatLanes multiply_add(FloatLanes a, FloatLanes b, FloatLanes c) {
#ifdef __FMA__
  return (FloatLanes)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}
ORRERY_ALWAYS_INLINE DoubleLanes multiply_add(DoubleLanes a, DoubleLanes b, DoubleLanes c) {
#ifdef __FMA__
  return (DoubleLanes)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return a * b + c;
#endif
}

ORRERY_ALWAYS_INLINE FloatLanes square_root(FloatLanes x) {
#ifdef __AVX__
  return (FloatLanes)_mm256_sqrt_ps((__m256)x);
#else
  for (int i = 0; i < 8; ++i) x[i] = std::sqrt(x[i]);
  return x;
#endif
}
ORRERY_ALWAYS_INLINE DoubleLanes square_root(DoubleLanes x) {
#ifdef __AVX__
  return (DoubleLanes)_mm256_sqrt_pd((__m256d)x);
#else
  for (int i = 0; i < 4; ++i) x[i] = std::sqrt(x[i]);
  return x;
#endif
}

}  // namespace orrery::kernels
