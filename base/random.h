// Random numbers as pure functions of what they are for. A draw is keyed by (seed, purpose, step, layer, microbatch) and the
// global element, never by the op or rank that asks, so recomputation and any sharding repeat it to the bit, and
// draws can be made in any order. Keys are absorbed one by one through the finalizer of SplitMix64 (Steele, Lea, Flood:
// "Fast splittable pseudorandom number generators", OOPSLA 2014), a bijection of 64 bits that passes BigCrush on counters.
// Cost: one multiplication-rotation round (about 2 ns) a draw; a normal draw adds log, sqrt and cos.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace orrery {

constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// What a draw is for; two purposes with equal keys draw independently.
enum class DrawPurpose : std::uint8_t { weight_init, dropout, data, routing, jitter, failure, search };

struct DrawKey {
  std::uint64_t seed = 0;
  DrawPurpose purpose = DrawPurpose::data;
  std::uint64_t step = 0;
  std::uint64_t layer = 0;
  std::uint64_t microbatch = 0;
};

// All draws of one key, indexed by the global element.
class RandomStream {
 public:
  explicit constexpr RandomStream(const DrawKey& key) {
    absorb(key.seed);
    absorb(static_cast<std::uint64_t>(key.purpose));
    absorb(key.step);
    absorb(key.layer);
    absorb(key.microbatch);
  }
  constexpr std::uint64_t bits(std::uint64_t element) const { return mix_bits(mix_bits(state_ + kGolden * (element + 1))); }
  // In [0, 1), a multiple of 2^-53.
  constexpr double uniform(std::uint64_t element) const { return static_cast<double>(bits(element) >> 11) * 0x1.0p-53; }
  // Standard normal, by Box and Muller; the first uniform is in (0, 1], so its logarithm is finite.
  double normal(std::uint64_t element) const {
    const std::uint64_t first = bits(element);
    const std::uint64_t second = mix_bits(first ^ kSecond);
    const double u = static_cast<double>((first >> 11) + 1) * 0x1.0p-53;
    const double angle = 2.0 * std::numbers::pi * (static_cast<double>(second >> 11) * 0x1.0p-53);
    return std::sqrt(-2.0 * std::log(u)) * std::cos(angle);
  }
  // In [0, n), n > 0. The bias is below n / 2^64.
  constexpr std::uint64_t below(std::uint64_t element, std::uint64_t n) const { return bits(element) % n; }

 private:
  static constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;
  static constexpr std::uint64_t kSecond = 0xD1B54A32D192ED03ULL;
  constexpr void absorb(std::uint64_t word) { state_ = mix_bits((state_ ^ mix_bits(word + kGolden)) + kGolden); }
  std::uint64_t state_ = 0;
};

}  // namespace orrery
