// Rows of any element type as lanes of what is computed in: 8 floats (for float, bf16, fp16) or 4 doubles,
// loaded and stored with the conversion that float_types.h defines, and whole rows widened or narrowed. Lanes
// are the compilers' vector types: arithmetic and comparisons are written with + - * / < and become AVX2
// where the kernels are built for it, and plain code elsewhere; only conversions name instructions. Lanes are
// filled in a fixed order and `sum` adds them in a fixed order, so a result depends on the numbers alone. For
// use inside a .cpp of kernels: everything is always inlined, since code of another instruction set must not
// share a name with it.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX2__) || defined(__F16C__)
#include <immintrin.h>
#endif

#include "kernels/float_types.h"

#define ORRERY_ALWAYS_INLINE [[gnu::always_inline]] inline

namespace orrery::kernels {

using FloatLanes = float __attribute__((vector_size(32)));
using DoubleLanes = double __attribute__((vector_size(32)));

template <typename T>
using Lanes = std::conditional_t<std::is_same_v<T, double>, DoubleLanes, FloatLanes>;
template <typename T>
inline constexpr std::int64_t lane_count = std::is_same_v<T, double> ? 4 : 8;

namespace lanes_detail {
using Bits16 = std::uint16_t __attribute__((vector_size(16)));
using Bits32 = std::uint32_t __attribute__((vector_size(32)));

// The upper half of each lane is its bf16.
ORRERY_ALWAYS_INLINE Bits32 rounded_to_bf16(FloatLanes v) {
  const auto u = (Bits32)v;
  const auto is_number = v == v;  // NOLINT(misc-redundant-expression)
  return is_number ? u + 0x7fffU + ((u >> 16) & 1U) : u | 0x400000U;
}
}  // namespace lanes_detail

// The next lane_count<T> elements. No alignment is asked for.
ORRERY_ALWAYS_INLINE FloatLanes load(const float* from) {
  FloatLanes v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
ORRERY_ALWAYS_INLINE DoubleLanes load(const double* from) {
  DoubleLanes v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
ORRERY_ALWAYS_INLINE FloatLanes load(const bf16* from) {
#ifdef __AVX2__
  __m128i half;
  std::memcpy(&half, from, sizeof half);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
#else
  lanes_detail::Bits16 half;
  std::memcpy(&half, from, sizeof half);
  return (FloatLanes)(__builtin_convertvector(half, lanes_detail::Bits32) << 16);
#endif
}
ORRERY_ALWAYS_INLINE FloatLanes load(const fp16* from) {
#ifdef __F16C__
  __m128i half;
  std::memcpy(&half, from, sizeof half);
  return _mm256_cvtph_ps(half);
#else
  FloatLanes v;
  for (int i = 0; i < 8; ++i) v[i] = static_cast<float>(from[i]);
  return v;
#endif
}

ORRERY_ALWAYS_INLINE void store(float* to, FloatLanes v) { std::memcpy(to, &v, sizeof v); }
ORRERY_ALWAYS_INLINE void store(double* to, DoubleLanes v) { std::memcpy(to, &v, sizeof v); }
ORRERY_ALWAYS_INLINE void store(bf16* to, FloatLanes v) {
  const lanes_detail::Bits32 kept = lanes_detail::rounded_to_bf16(v) >> 16;
#ifdef __AVX2__
  const auto lanes = (__m256i)kept;
  const __m128i half = _mm_packus_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
#else
  const auto half = __builtin_convertvector(kept, lanes_detail::Bits16);
#endif
  std::memcpy(&to->bits, &half, sizeof half);
}
ORRERY_ALWAYS_INLINE void store(fp16* to, FloatLanes v) {
#ifdef __F16C__
  const __m128i half = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
  std::memcpy(&to->bits, &half, sizeof half);
#else
  for (int i = 0; i < 8; ++i) to[i] = fp16(v[i]);
#endif
}

// The next 2 lane_count<T> elements, for work that is done element by element: lanes and the lanes behind
// them, but of bf16 the even and the odd elements, which takes half the instructions. pair_place(i) is where
// element i of a row of pairs stands when its lanes are stored one behind the other.
template <typename T>
ORRERY_ALWAYS_INLINE void load_pair(const T* from, Lanes<T> (&to)[2]) {
  if constexpr (std::is_same_v<T, bf16>) {
    lanes_detail::Bits32 both;
    std::memcpy(&both, from, sizeof both);
    to[0] = (FloatLanes)(both << 16);
    to[1] = (FloatLanes)(both & 0xffff0000U);
  } else {
    to[0] = load(from);
    to[1] = load(from + lane_count<T>);
  }
}
template <typename T>
ORRERY_ALWAYS_INLINE void store_pair(T* to, const Lanes<T> (&from)[2]) {
  if constexpr (std::is_same_v<T, bf16>) {
    const lanes_detail::Bits32 both = (lanes_detail::rounded_to_bf16(from[0]) >> 16) |
                                      (lanes_detail::rounded_to_bf16(from[1]) & 0xffff0000U);
    std::memcpy(&to->bits, &both, sizeof both);
  } else {
    store(to, from[0]);
    store(to + lane_count<T>, from[1]);
  }
}

template <typename T>
ORRERY_ALWAYS_INLINE std::int64_t pair_place(std::int64_t i) {
  return std::is_same_v<T, bf16> ? i / 16 * 16 + i % 2 * 8 + i % 16 / 2 : i;
}

// The last `count` < lane_count<T> elements of a row; lanes behind them are 0 when loaded and left alone when
// stored.
template <typename T>
ORRERY_ALWAYS_INLINE Lanes<T> load_part(const T* from, std::int64_t count) {
  T row[lane_count<T>] = {};
  for (std::int64_t i = 0; i < count; ++i) row[i] = from[i];
  return load(row);
}
template <typename T>
ORRERY_ALWAYS_INLINE void store_part(T* to, Lanes<T> v, std::int64_t count) {
  T row[lane_count<T>];
  store(row, v);
  for (std::int64_t i = 0; i < count; ++i) to[i] = row[i];
}

// The same number in every lane.
ORRERY_ALWAYS_INLINE FloatLanes all_lanes(float value) {
  return FloatLanes{value, value, value, value, value, value, value, value};
}
ORRERY_ALWAYS_INLINE DoubleLanes all_lanes(double value) { return DoubleLanes{value, value, value, value}; }

// (((v0 + v4) + (v2 + v6)) + ((v1 + v5) + (v3 + v7))), and of doubles ((v0 + v2) + (v1 + v3)).
ORRERY_ALWAYS_INLINE float sum(FloatLanes v) {
  const auto fours = __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
  const auto twos = fours + __builtin_shufflevector(fours, fours, 2, 3, 2, 3);
  return twos[0] + twos[1];
}
ORRERY_ALWAYS_INLINE double sum(DoubleLanes v) {
  const auto twos = __builtin_shufflevector(v, v, 0, 1) + __builtin_shufflevector(v, v, 2, 3);
  return twos[0] + twos[1];
}

// Whole rows: to[i] = from[i], widened or rounded.
template <typename T>
ORRERY_ALWAYS_INLINE void widen_row(const T* from, Wide<T>* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lane_count<T> <= count; i += lane_count<T>) store(to + i, load(from + i));
  for (; i < count; ++i) to[i] = widen(from[i]);
}
template <typename T>
ORRERY_ALWAYS_INLINE void narrow_row(const Wide<T>* from, T* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lane_count<T> <= count; i += lane_count<T>) store(to + i, load(from + i));
  for (; i < count; ++i) to[i] = narrow<T>(from[i]);
}
// to[i] += from[i]: added in the wide type, rounded once.
template <typename T>
ORRERY_ALWAYS_INLINE void add_row(const Wide<T>* from, T* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lane_count<T> <= count; i += lane_count<T>) store(to + i, load(to + i) + load(from + i));
  for (; i < count; ++i) to[i] = narrow<T>(widen(to[i]) + from[i]);
}

}  // namespace orrery::kernels
