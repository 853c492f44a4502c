// 16-bit floating point as storage: numbers are widened to float to compute, and rounded to nearest even when stored,
// as tensor cores with fp32 accumulation do. Wide<T> is what a kernel over T computes in. `double` is there so that every
// plan can be held against one rank to 1e-9.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace orrery::kernels {

// bfloat16: the upper half of a float. NaN stays NaN.
struct bf16 {  // NOLINT(readability-identifier-naming): the field's word
  std::uint16_t bits = 0;
  bf16() = default;
  explicit bf16(float value) : bits(round(value)) {}
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

 private:
  static std::uint16_t round(float value) {
    const auto u = std::bit_cast<std::uint32_t>(value);
    if ((u & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((u >> 16) | 0x40U);
    return static_cast<std::uint16_t>((u + 0x7fffU + ((u >> 16) & 1U)) >> 16);
  }
};

// IEEE binary16. The kernels are built for x86-64-v3, so both compilers turn the conversions of _Float16-less code into
// F16C where they are vectorised by hand; this scalar form is the meaning.
struct fp16 {  // NOLINT(readability-identifier-naming): the field's word
  std::uint16_t bits = 0;
  fp16() = default;
  explicit fp16(float value);
  explicit operator float() const;
};

inline fp16::fp16(float value) {
  const auto u = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((u >> 16) & 0x8000U);
  const std::uint32_t magnitude = u & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {  // NaN
    bits = static_cast<std::uint16_t>(sign | 0x7e00U);
  } else if (magnitude >= 0x477ff000U) {  // rounds to infinity: 65520 and above
    bits = static_cast<std::uint16_t>(sign | 0x7c00U);
  } else if (magnitude >= 0x38800000U) {  // normal
    const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
    bits = static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
  } else {  // subnormal or zero: adding 0.5 aligns the mantissa's last bit with 2^-24
    const float aligned = std::bit_cast<float>(magnitude) + 0.5F;
    bits = static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(aligned) - 0x3f000000U));
  }
}

inline fp16::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t magnitude = bits & 0x7fffU;
  if (magnitude >= 0x7c00U)  // infinity and NaN
    return std::bit_cast<float>(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13));
  if (magnitude >= 0x400U) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000U));
  const float value = static_cast<float>(magnitude) * 0x1.0p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T>
inline Wide<T> widen(T value) {
  return static_cast<Wide<T>>(value);
}
template <typename T>
inline T narrow(Wide<T> value) {
  return static_cast<T>(value);
}

}  // namespace orrery::kernels
