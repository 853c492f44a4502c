// Philox for eight counters at a time, four in each vector: a word is the lower half of a 64-bit lane, so
// that one multiplication (vpmuludq) gives both halves of its product in place. What the upper halves of
// lanes hold is never looked at. The compilers do not find vpmuludq by themselves, so it is named.
#include "kernels/random.h"

#include <algorithm>
#include <cstring>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace orrery::kernels {
namespace {

using Words = std::uint32_t __attribute__((vector_size(32)));
using LongWords = std::uint64_t __attribute__((vector_size(32)));
constexpr std::int64_t kGroup = 32;  // elements of eight counters

[[gnu::always_inline]] inline LongWords multiply(LongWords x, std::uint32_t factor) {
#ifdef __AVX2__
  return (LongWords)_mm256_mul_epu32((__m256i)x, _mm256_set1_epi64x(factor));
#else
  return (x & 0xffffffffU) * factor;
#endif
}

// Words that are all ones or zero, as bytes 1 or 0. Packing works within halves of a vector; the permutation
// puts the pieces of four bytes back in order.
[[gnu::always_inline]] inline void store_bytes(const Words (&kept)[4], std::uint8_t* mask) {
#ifdef __AVX2__
  const auto first = _mm256_packs_epi32((__m256i)kept[0], (__m256i)kept[1]);
  const auto second = _mm256_packs_epi32((__m256i)kept[2], (__m256i)kept[3]);
  const auto bytes = _mm256_and_si256(_mm256_packs_epi16(first, second), _mm256_set1_epi8(1));
  const auto order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const auto ordered = _mm256_permutevar8x32_epi32(bytes, order);
  std::memcpy(mask, &ordered, sizeof ordered);
#else
  for (int i = 0; i < kGroup; ++i) mask[i] = kept[i / 8][i % 8] != 0 ? 1 : 0;
#endif
}

struct FourBlocks {
  LongWords word[4];
};

// philox() of kernels/random.h, of the four counters in `low` with one upper half.
[[gnu::always_inline]] inline FourBlocks philox_of_four(LongWords low, std::uint64_t high,
                                                        std::uint64_t key) {
  LongWords x0 = low, x1 = LongWords{} + high, x2{}, x3{};
  auto key_low = static_cast<std::uint32_t>(key), key_high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const LongWords even = multiply(x0, 0xD2511F53U), odd = multiply(x2, 0xCD9E8D57U);
    x0 = (odd >> 32) ^ x1 ^ key_low;
    x1 = odd;
    x2 = (even >> 32) ^ x3 ^ key_high;
    x3 = even;
    key_low += 0x9E3779B9U;
    key_high += 0xBB67AE85U;
  }
  return {{x0, x1, x2, x3}};
}

// The mask bytes of elements 32 group .. 32 group + 31.
[[gnu::always_inline]] inline void keep_group(std::uint64_t key, std::uint64_t group, std::uint32_t threshold,
                                              std::uint8_t* mask) {
  const std::uint64_t counter = group * 8, low = counter & 0xffffffffU, high = counter >> 32;
  // Counters are spread so that taking the lower halves of lanes, from each 128 bits of both, puts them in
  // order.
  const FourBlocks a = philox_of_four(LongWords{0, 1, 4, 5} + low, high, key);
  const FourBlocks b = philox_of_four(LongWords{2, 3, 6, 7} + low, high, key);
  Words kept[4];
  for (int w = 0; w < 4; ++w) {
    const Words draws =
        __builtin_shufflevector((Words)a.word[w], (Words)b.word[w], 0, 2, 8, 10, 4, 6, 12, 14);
    kept[w] = (Words)(draws >= threshold);
  }
  store_bytes(kept, mask);
}

}  // namespace

void keep_row(std::uint64_t key, std::int64_t first_element, std::int64_t count, std::uint32_t threshold,
              std::uint8_t* mask) {
  auto group = static_cast<std::uint64_t>(first_element / kGroup);
  std::int64_t skipped = first_element % kGroup;  // of the group, before what is asked for
  while (count > 0) {
    const std::int64_t taken = std::min(kGroup - skipped, count);
    if (taken == kGroup) {
      keep_group(key, group, threshold, mask);
    } else {
      std::uint8_t bytes[kGroup];
      keep_group(key, group, threshold, bytes);
      std::memcpy(mask, bytes + skipped, static_cast<std::size_t>(taken));
    }
    mask += taken;
    count -= taken;
    skipped = 0;
    ++group;
  }
}

}  // namespace orrery::kernels
