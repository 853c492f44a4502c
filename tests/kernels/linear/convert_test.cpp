// Lanes convert as the scalar types of float_types.h do: every 16-bit number exhaustively, floats by a stride
// that meets every exponent, rounding and special value. Built with the kernels' flags, as lanes are.
#include "kernels/convert.h"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery::kernels {
namespace {

template <typename T>
class Convert : public testing::Test {};
using Halves = testing::Types<bf16, fp16>;
TYPED_TEST_SUITE(Convert, Halves);

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

TYPED_TEST(Convert, EveryHalfWidensAndComesBack) {
  using T = TypeParam;
  std::int64_t wrong = 0;
  for (std::uint32_t first = 0; first < 0x10000; first += 16) {
    T half[16], back[16], paired[16];
    for (std::uint32_t i = 0; i < 16; ++i) half[i].bits = static_cast<std::uint16_t>(first + i);
    float wide[16];
    widen_row(half, wide, 16);
    narrow_row(wide, back, 16);
    Lanes<T> pair[2];
    load_pair(half, pair);
    store_pair(paired, pair);
    for (int i = 0; i < 16; ++i) {
      const auto value = static_cast<float>(half[i]);
      const float lane = pair[pair_place<T>(i) / 8][pair_place<T>(i) % 8];
      wrong += !same(wide[i], value) + !same(lane, value) + !same(static_cast<float>(back[i]), value) +
               !same(static_cast<float>(paired[i]), value);
    }
  }
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(Convert, FloatsRoundAsScalarsDo) {
  using T = TypeParam;
  std::int64_t wrong = 0;
  constexpr std::uint32_t kStep = 4099;  // a prime
  for (std::uint64_t first = 0; first < 0x1'0000'0000; first += 8 * kStep) {
    float wide[8];
    for (std::uint32_t i = 0; i < 8; ++i)
      wide[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first) + i * kStep);
    T half[8];
    store(half, load(wide));
    for (int i = 0; i < 8; ++i) wrong += !same(static_cast<float>(half[i]), static_cast<float>(T(wide[i])));
  }
  EXPECT_EQ(wrong, 0);
}

TYPED_TEST(Convert, RowsOfAnyLengthAndTheirEnds) {
  using T = TypeParam;
  for (std::int64_t count = 0; count < 40; ++count) {
    T from[40], to[41];
    float wide[41];
    for (int i = 0; i < 40; ++i) from[i] = T(static_cast<float>(i) * 0.25F);
    to[count] = T(-1.0F);
    wide[count] = -1.0F;
    widen_row(from, wide, count);
    narrow_row(wide, to, count);
    add_row(wide, to, count);
    for (std::int64_t i = 0; i < count; ++i)
      ASSERT_EQ(static_cast<float>(to[i]), static_cast<float>(i) * 0.5F);
    EXPECT_EQ(static_cast<float>(to[count]), -1.0F);
    EXPECT_EQ(wide[count], -1.0F);
  }
}

TEST(Lanes, SumAndParts) {
  const float from[5] = {1.0F, 2.0F, 4.0F, 8.0F, 16.0F};
  EXPECT_EQ(sum(load_part(from, 5)), 31.0F);
  float to[5] = {};
  store_part(to, load_part(from, 5), 3);
  EXPECT_EQ(to[2], 4.0F);
  EXPECT_EQ(to[3], 0.0F);
  EXPECT_EQ(sum(all_lanes(0.5)), 2.0);
  EXPECT_EQ(sum(all_lanes(0.5F)), 4.0F);
}

}  // namespace
}  // namespace orrery::kernels
