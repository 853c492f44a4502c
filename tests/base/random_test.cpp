// Keyed draws: equal keys draw equally, any other key independently, and the distributions are right. Bounds are six
// standard deviations of the statistic, and the draws are pure functions, so these tests give the same answer for ever.
#include "base/random.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

namespace orrery {
namespace {

constexpr std::uint64_t kDraws = 100'000;

TEST(Random, ADrawIsAFunctionOfItsKey) {
  const DrawKey key{.seed = 1, .purpose = DrawPurpose::dropout, .step = 2, .layer = 3, .microbatch = 4};
  EXPECT_EQ(RandomStream(key).bits(5), RandomStream(key).bits(5));
  EXPECT_EQ(RandomStream(key).normal(5), RandomStream(key).normal(5));
  constexpr RandomStream compile_time(DrawKey{.seed = 1});
  static_assert(compile_time.bits(0) != compile_time.bits(1));
}

TEST(Random, EveryPartOfTheKeyMatters) {
  std::set<std::uint64_t> seen;
  std::size_t keys = 0;
  for (std::uint64_t seed = 0; seed < 3; ++seed)
    for (const DrawPurpose purpose : {DrawPurpose::weight_init, DrawPurpose::dropout, DrawPurpose::search})
      for (std::uint64_t step = 0; step < 3; ++step)
        for (std::uint64_t layer = 0; layer < 3; ++layer)
          for (std::uint64_t microbatch = 0; microbatch < 3; ++microbatch)
            for (std::uint64_t element = 0; element < 50; ++element, ++keys)
              seen.insert(RandomStream({seed, purpose, step, layer, microbatch}).bits(element));
  EXPECT_EQ(seen.size(), keys);
}

TEST(Random, NeighbouringKeysShareNoBits) {
  const RandomStream a({.seed = 7});
  const RandomStream b({.seed = 8});
  std::uint64_t equal_bits = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i)
    equal_bits += 64U - static_cast<std::uint64_t>(std::popcount(a.bits(i) ^ b.bits(i)));
  const double n = 64.0 * static_cast<double>(kDraws);
  EXPECT_NEAR(static_cast<double>(equal_bits), n / 2, 6 * std::sqrt(n / 4));
}

TEST(Random, UniformDrawsFillTheirInterval) {
  const RandomStream stream({.seed = 11});
  constexpr std::size_t kBins = 64;
  std::array<double, kBins> bins{};
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double x = stream.uniform(i);
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    bins[static_cast<std::size_t>(x * kBins)] += 1.0;
  }
  const double expected = static_cast<double>(kDraws) / kBins;
  double chi_square = 0.0;
  for (const double count : bins) chi_square += (count - expected) * (count - expected) / expected;
  EXPECT_NEAR(chi_square, kBins - 1.0, 6 * std::sqrt(2.0 * (kBins - 1)));
}

TEST(Random, NormalDrawsHaveTheirMoments) {
  const RandomStream stream({.seed = 12});
  double sum = 0.0;
  double squares = 0.0;
  double fourth = 0.0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const double x = stream.normal(i);
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  const double n = static_cast<double>(kDraws);
  EXPECT_NEAR(sum / n, 0.0, 6 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1.0, 6 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth / n, 3.0, 6 * std::sqrt(96 / n));
}

TEST(Random, BelowStaysBelow) {
  const RandomStream stream({.seed = 13});
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) seen.insert(stream.below(i, 7));
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace orrery
