// Philox for eight counters at a time. The upper halves of 32-bit products are what AVX2 has no single
// instruction for: even and odd lanes are multiplied apart (vpmuludq) and woven together again. The compilers
// do not find this by themselves, so it is written by name; elsewhere plain loops say the same.
#include "kernels/random.h"

#include <algorithm>
#include <cstring>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace orrery::kernels {
namespace {

using Words = std::uint32_t __attribute__((vector_size(32)));
constexpr std::int64_t kGroup = 32;  // elements of eight counters

struct Product {
  Words high, low;
};

[[gnu::always_inline]] inline Product multiply(Words x, std::uint32_t factor) {
#ifdef __AVX2__
  const auto f = _mm256_set1_epi32(static_cast<int>(factor));
  const auto v = (__m256i)x;
  const auto even = _mm256_mul_epu32(v, f);
  const auto odd = _mm256_mul_epu32(_mm256_srli_epi64(v, 32), f);
  return {(Words)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa),
          (Words)_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa)};
#else
  Product p;
  for (int i = 0; i < 8; ++i) {
    const std::uint64_t product = std::uint64_t{factor} * x[i];
    p.high[i] = static_cast<std::uint32_t>(product >> 32);
    p.low[i] = static_cast<std::uint32_t>(product);
  }
  return p;
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

// The mask bytes of elements 32 group .. 32 group + 31.
[[gnu::always_inline]] inline void keep_group(std::uint64_t key, std::uint64_t group, std::uint32_t threshold,
                                              std::uint8_t* mask) {
  const std::uint64_t counter = group * 8;
  const auto low = static_cast<std::uint32_t>(counter);  // a multiple of 8: adding up to 7 carries nothing
  const auto high = static_cast<std::uint32_t>(counter >> 32);
  Words x0 = Words{0, 1, 2, 3, 4, 5, 6, 7} + low, x1 = Words{} + high, x2{}, x3{};
  auto key_low = static_cast<std::uint32_t>(key), key_high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const Product even = multiply(x0, 0xD2511F53U), odd = multiply(x2, 0xCD9E8D57U);
    x0 = odd.high ^ x1 ^ key_low;
    x1 = odd.low;
    x2 = even.high ^ x3 ^ key_high;
    x3 = even.low;
    key_low += 0x9E3779B9U;
    key_high += 0xBB67AE85U;
  }
  const Words kept[4] = {(Words)(x0 >= threshold), (Words)(x1 >= threshold), (Words)(x2 >= threshold),
                         (Words)(x3 >= threshold)};
  store_bytes(kept, mask);
}

}  // namespace

void keep_row(std::uint64_t key, std::int64_t first_element, std::int64_t count, std::uint32_t threshold,
              std::uint8_t* mask) {
  std::int64_t group = first_element / kGroup;
  std::int64_t skipped = first_element % kGroup;  // of the group, before what is asked for
  while (count > 0) {
    const std::int64_t taken = std::min(kGroup - skipped, count);
    if (taken == kGroup) {
      keep_group(key, static_cast<std::uint64_t>(group), threshold, mask);
    } else {
      std::uint8_t bytes[kGroup];
      keep_group(key, static_cast<std::uint64_t>(group), threshold, bytes);
      std::memcpy(mask, bytes + skipped, static_cast<std::size_t>(taken));
    }
    mask += taken;
    count -= taken;
    skipped = 0;
    ++group;
  }
}

}  // namespace orrery::kernels
