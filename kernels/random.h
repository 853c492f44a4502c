// Random draws for dropout: a pure function of a 64-bit key and a 64-bit element number, so that
// recomputation, sharding and any order of work repeat them. The function is Philox4x32 with 7 rounds
// (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 4.3 and table
// 2: 7 rounds pass BigCrush, over counters and over keys); 10 rounds are what cuRAND computes. It needs
// 32-bit multiplications only, so eight counters go through AVX2 at once, and a GPU repeats the same draws.
//
// The caller makes the key of (seed, step, layer, site, global sequence); the element is the global element
// of that sequence's tensor. Elements go to counters in groups of 32: element 32 g + 8 w + i is word w of
// counter 8 g + i, so that a group is four vectors in order. Cost: about half a nanosecond an element.
#pragma once

#include <array>
#include <cstdint>

namespace orrery::kernels {

struct PhiloxKey {
  std::uint32_t low = 0, high = 0;
};

// One block of four words; the meaning that keep_row computes eight counters at a time.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> x, PhiloxKey key, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53U} * x[0];
    const std::uint64_t odd = std::uint64_t{0xCD9E8D57U} * x[2];
    x = {static_cast<std::uint32_t>(odd >> 32) ^ x[1] ^ key.low, static_cast<std::uint32_t>(odd),
         static_cast<std::uint32_t>(even >> 32) ^ x[3] ^ key.high, static_cast<std::uint32_t>(even)};
    key = {key.low + 0x9E3779B9U, key.high + 0xBB67AE85U};
  }
  return x;
}
inline constexpr int kPhiloxRounds = 7;

// The 32 random bits of an element.
constexpr std::uint32_t draw(std::uint64_t key, std::uint64_t element) {
  const std::uint64_t counter = element / 32 * 8 + element % 8;
  const auto words =
      philox({static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0},
             {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}, kPhiloxRounds);
  return words[element % 32 / 8];
}

// An element is kept if its draw is not below the threshold: dropped with a probability within 2^-33 of the
// one asked for (0 <= probability < 1).
constexpr std::uint32_t drop_threshold(double probability) {
  const double t = probability * 0x1.0p32 + 0.5;
  return t >= 0xffffffffU ? 0xffffffffU : static_cast<std::uint32_t>(t);
}

// mask[i] = 1 where element first_element + i is kept, else 0.
void keep_row(std::uint64_t key, std::int64_t first_element, std::int64_t count, std::uint32_t threshold,
              std::uint8_t* mask);

}  // namespace orrery::kernels
