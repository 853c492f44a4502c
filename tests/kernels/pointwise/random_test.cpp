// The draws: that they are Philox, that rows repeat single draws wherever they begin, and that bits,
// neighbouring elements and neighbouring keys look independent.
#include "kernels/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace orrery::kernels {
namespace {

// kat_vectors of Random123 (D. E. Shaw Research), philox4x32.
TEST(Philox, HasThePublishedAnswers) {
  using Words = std::array<std::uint32_t, 4>;
  const PhiloxKey ones{0xffffffff, 0xffffffff}, pi{0xa4093822, 0x299f31d0};
  const Words all_ones{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff};
  const Words of_pi{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344};
  EXPECT_EQ(philox({}, {}, 7), (Words{0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48}));
  EXPECT_EQ(philox({}, {}, 10), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(all_ones, ones, 10), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(of_pi, pi, 10), (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(KeepRow, RepeatsTheDrawsOfItsElementsWhereverItBegins) {
  constexpr std::uint64_t kKey = 0x123456789abcdefULL;
  const std::uint32_t threshold = drop_threshold(0.3);
  for (const std::int64_t first :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{31}, std::int64_t{32}, (std::int64_t{1} << 34) - 45})
    for (const std::int64_t count : {0, 1, 5, 31, 32, 33, 100}) {
      std::vector<std::uint8_t> mask(static_cast<std::size_t>(count) + 1, 7);
      keep_row(kKey, first, count, threshold, mask.data());
      for (std::int64_t i = 0; i < count; ++i)
        ASSERT_EQ(mask[static_cast<std::size_t>(i)],
                  draw(kKey, static_cast<std::uint64_t>(first + i)) >= threshold ? 1 : 0)
            << first << " + " << i;
      ASSERT_EQ(mask.back(), 7);
    }
}

TEST(DropThreshold, IsTheProbability) {
  EXPECT_EQ(drop_threshold(0.0), 0U);
  EXPECT_EQ(drop_threshold(0.5), 0x80000000U);
  EXPECT_EQ(drop_threshold(0x1.fffffffffp-1), 0xffffffffU);
  EXPECT_NEAR(drop_threshold(0.1) * 0x1.0p-32, 0.1, 0x1.0p-32);
}

constexpr std::uint64_t kDraws = 1 << 18;

// Pearson's chi-squared statistic of counts that should be equal, as standard deviations from its mean.
double deviation(const std::vector<double>& counts, double total) {
  const double expected = total / static_cast<double>(counts.size());
  double chi2 = 0.0;
  for (const double n : counts) chi2 += (n - expected) * (n - expected) / expected;
  const double freedom = static_cast<double>(counts.size() - 1);
  return (chi2 - freedom) / std::sqrt(2.0 * freedom);
}

TEST(Draws, AreUniformInEveryByte) {
  for (int shift = 0; shift < 32; shift += 8) {
    std::vector<double> counts(256);
    for (std::uint64_t e = 0; e < kDraws; ++e) ++counts[draw(42, e) >> shift & 0xff];
    EXPECT_LT(std::abs(deviation(counts, kDraws)), 5.0) << "bits from " << shift;
  }
}

// Pairs of draws, by their four upper bits: 256 equally likely cells.
void expect_independent(const std::function<std::pair<std::uint32_t, std::uint32_t>(std::uint64_t)>& pair) {
  std::vector<double> counts(256);
  for (std::uint64_t e = 0; e < kDraws; ++e) {
    const auto [a, b] = pair(e);
    ++counts[(a >> 28) << 4 | b >> 28];
  }
  EXPECT_LT(std::abs(deviation(counts, kDraws)), 5.0);
}

TEST(Draws, OfNeighbouringElementsAreIndependent) {
  for (const std::uint64_t lag : {1U, 2U, 8U, 16U, 31U, 32U, 64U, 1024U})
    expect_independent([&](std::uint64_t e) { return std::pair(draw(7, e), draw(7, e + lag)); });
}

TEST(Draws, OfNeighbouringKeysAreIndependent) {
  for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 31,
                                   std::uint64_t{1} << 32, std::uint64_t{1} << 63})
    expect_independent([&](std::uint64_t e) { return std::pair(draw(7, e), draw(7 + step, e)); });
  expect_independent([](std::uint64_t key) { return std::pair(draw(key, 0), draw(key + 1, 0)); });
}

// Flipping one bit of key or counter flips every output bit in half of all cases.
TEST(Draws, Avalanche) {
  constexpr int kSamples = 2048;
  const double allowed = 6.0 * 0.5 / std::sqrt(double{kSamples});
  for (int bit = 0; bit < 128; ++bit) {
    std::array<int, 32> flips{};
    for (std::uint64_t i = 0; i < kSamples; ++i) {
      const std::uint64_t key = i * 0x9E3779B97F4A7C15ULL, element = i << 7,
                          one = std::uint64_t{1} << (bit % 64);
      const std::uint32_t changed =
          draw(key, element) ^ (bit < 64 ? draw(key ^ one, element) : draw(key, element ^ one));
      for (std::size_t b = 0; b < 32; ++b) flips[b] += static_cast<int>(changed >> b & 1);
    }
    for (const int n : flips)
      EXPECT_NEAR(static_cast<double>(n) / kSamples, 0.5, allowed)
          << "bit " << bit % 64 << (bit < 64 ? " of key" : " of element");
  }
}

}  // namespace
}  // namespace orrery::kernels
