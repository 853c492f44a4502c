// exp of lanes against the library's, over every exponent, and its special cases.
#include "kernels/lane_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

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
      if (x > 88.72F) ASSERT_TRUE(x < 88.73F || std::isinf(exp_of(x))) << x;
      else if (x < -86.9F) ASSERT_EQ(exp_of(x), 0.0F) << x;
      else ASSERT_NEAR(exp_of(x) / exact, 1.0, 0x1.0p-23) << x;
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

TEST(SquareRoot, IsTheLibrarys) {
  float roots[8];
  store(roots, square_root(FloatLanes{0, 1, 2, 3, 4, 5, 1e30F, 1e-30F}));
  EXPECT_EQ(roots[3], std::sqrt(3.0F));
  EXPECT_EQ(roots[7], std::sqrt(1e-30F));
}

}  // namespace
}  // namespace orrery::kernels
