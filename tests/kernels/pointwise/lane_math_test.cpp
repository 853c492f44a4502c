// exp of lanes against the library's, over every exponent, and its special cases.
#include "kernels/lane_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace orrery::kernels {
namespace {

template <typename Number>
Number exp_of(Number x) {
  Number result[32 / sizeof(Number)];
  store(result, exponential(all_lanes(x)));
  return result[1];
}

TEST(Exponential, OfFloatIsWithinTwoUnits) {
  for (std::uint32_t bits = 0; bits < 0x7f800000U; bits += 4999)
    for (const std::uint32_t sign : {0U, 0x80000000U}) {
      const auto x = std::bit_cast<float>(bits | sign);
      const double exact = std::exp(static_cast<double>(x));
      if (x > 88.72F)
        ASSERT_TRUE(x < 88.73F || std::isinf(exp_of(x))) << x;
      else if (x < -86.9F)
        ASSERT_EQ(exp_of(x), 0.0F) << x;
      else
        ASSERT_NEAR(exp_of(x) / exact, 1.0, 0x1.0p-23) << x;
    }
}

TEST(Exponential, OfDoubleIsWithinTwoUnits) {
  for (double x = -707.5; x < 709.7; x += 0.0137) ASSERT_NEAR(exp_of(x) / std::exp(x), 1.0, 0x1.0p-51) << x;
  EXPECT_EQ(exp_of(-708.0), 0.0);
  EXPECT_TRUE(std::isinf(exp_of(710.0)));
}

template <typename Number>
void expect_special_values() {
  const auto inf = std::numeric_limits<Number>::infinity();
  EXPECT_EQ(exp_of(Number(0)), Number(1));
  EXPECT_EQ(exp_of(-inf), Number(0));
  EXPECT_EQ(exp_of(inf), inf);
  EXPECT_EQ(exp_of(std::numeric_limits<Number>::max()), inf);
  EXPECT_EQ(exp_of(std::numeric_limits<Number>::lowest()), Number(0));
  EXPECT_TRUE(std::isnan(exp_of(std::numeric_limits<Number>::quiet_NaN())));
}
TEST(Exponential, KnowsInfinitiesAndNan) {
  expect_special_values<float>();
  expect_special_values<double>();
}

TEST(ExponentialNear, IsTheSameWhereItIsMeant) {
  for (float x = -87.0F; x <= 87.0F; x += 0.037F) {
    float near[8];
    store(near, exponential_near(all_lanes(x)));
    ASSERT_NEAR(near[3] / std::exp(static_cast<double>(x)), 1.0, 0x1.0p-23) << x;
  }
}

TEST(Extremes, TakeTheSecondWhereOneIsNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  float low[8], high[8];
  store(low, minimum(FloatLanes{1, 5, nan, 2, 0, 0, 0, 0}, FloatLanes{3, 4, 7, nan, 0, 0, 0, 0}));
  store(high, maximum(FloatLanes{1, 5, nan, 2, 0, 0, 0, 0}, FloatLanes{3, 4, 7, nan, 0, 0, 0, 0}));
  EXPECT_EQ(low[0], 1.0F);
  EXPECT_EQ(high[1], 5.0F);
  EXPECT_EQ(low[2], 7.0F);
  EXPECT_TRUE(std::isnan(high[3]));
}

TEST(MultiplyAdd, RoundsOnce) {
  // (1 + 2^-12)^2 - 1 - 2^-11 = 2^-24, which a rounded product would lose.
  const float x = 1.0F + 0x1.0p-12F;
  float fused[8];
  store(fused, multiply_add(all_lanes(x), all_lanes(x), all_lanes(-1.0F - 0x1.0p-11F)));
  EXPECT_EQ(fused[5], 0x1.0p-24F);
}

TEST(SquareRoot, IsTheLibrarys) {
  float roots[8];
  store(roots, square_root(FloatLanes{0, 1, 2, 3, 4, 5, 1e30F, 1e-30F}));
  EXPECT_EQ(roots[3], std::sqrt(3.0F));
  EXPECT_EQ(roots[7], std::sqrt(1e-30F));
}

}  // namespace
}  // namespace orrery::kernels
