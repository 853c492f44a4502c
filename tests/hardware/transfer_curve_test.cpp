// Measured curves: hit exactly, followed between points however they bend (CASES N6), gone on as alpha-beta beyond the ends.
#include "hardware/transfer_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace orrery::hardware {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMib = 1 << 20;

// seconds = alpha + bytes / bandwidth at every power of 4 from 1 KiB to 64 MiB.
TransferCurve line_curve(double alpha, double bandwidth) {
  TransferCurve curve;
  for (std::int64_t bytes = 1024; bytes <= 64 * kMib; bytes *= 4) {
    const double s = alpha + static_cast<double>(bytes) / bandwidth;
    curve.points.push_back({bytes, s, 0.9 * s, 1.2 * s, 20, 0});
  }
  return curve;
}

TEST(TransferCurve, AMeasuredSizeIsItself) {
  const CurveTime time = time_at(line_curve(10e-6, 4e9), 65536.0);
  EXPECT_EQ(time.part, CurvePart::point);
  EXPECT_DOUBLE_EQ(time.seconds, 10e-6 + 65536.0 / 4e9);
  EXPECT_NEAR(time.log_low, std::log(0.9), 1e-12);
  EXPECT_NEAR(time.log_high, std::log(1.2), 1e-12);
}

TEST(TransferCurve, BetweenPointsInLogarithms) {
  TransferCurve curve;
  curve.points = {{1000, 1e-5, 1e-5, 1e-5, 1, 0}, {100000, 4e-5, 4e-5, 4e-5, 1, 0}};
  const CurveTime time = time_at(curve, 10000.0);  // half way in ln(bytes)
  EXPECT_EQ(time.part, CurvePart::between);
  EXPECT_NEAR(time.seconds, 2e-5, 1e-12);
  EXPECT_LT(time.log_low, 0.0);
  EXPECT_GT(time.log_high, 0.0);
}

TEST(TransferCurve, BeyondTheEndsAsALine) {
  const TransferCurve curve = line_curve(10e-6, 4e9);
  const CurveTime large = time_at(curve, 1e9), small = time_at(curve, 8.0), none = time_at(curve, 0.0);
  EXPECT_EQ(large.part, CurvePart::beyond);
  EXPECT_NEAR(large.seconds / (10e-6 + 1e9 / 4e9), 1.0, 0.01);
  EXPECT_NEAR(small.seconds / 10e-6, 1.0, 0.01);
  EXPECT_NEAR(none.seconds / 10e-6, 1.0, 0.01);
  EXPECT_GE(large.log_high, 0.3);
}

TEST(TransferCurve, TimesGrowWhereTheMeasuredOnesDo) {
  const TransferCurve curve = line_curve(10e-6, 4e9);
  double last = 0.0;
  for (double bytes = 1.0; bytes < 4e9; bytes *= 1.3) {
    const double now = time_at(curve, bytes).seconds;
    EXPECT_GE(now, last) << bytes;
    last = now;
  }
}

TEST(TransferCurve, AFallingCurveIsKeptAsItWasMeasured) {
  TransferCurve curve = line_curve(10e-6, 4e9);
  curve.points[4].seconds = curve.points[4].p10 = curve.points[4].p90 = 0.5 * curve.points[3].seconds;  // a faster algorithm
  EXPECT_DOUBLE_EQ(time_at(curve, static_cast<double>(curve.points[4].bytes)).seconds, 0.5 * curve.points[3].seconds);
  const auto middle = static_cast<double>(curve.points[3].bytes) * 2.0;
  EXPECT_NEAR(time_at(curve, middle).seconds, std::sqrt(0.5) * curve.points[3].seconds, 1e-9);
  EXPECT_FALSE(shape_of(curve).straight);
}

TEST(TransferCurve, ALineIsStraightAndItsTermsAreFound) {
  const CurveShape shape = shape_of(line_curve(10e-6, 4e9));
  EXPECT_TRUE(shape.straight);
  EXPECT_NEAR(shape.line.fixed_s, 10e-6, 1e-9);
  EXPECT_NEAR(1.0 / shape.line.s_per_byte, 4e9, 1e6);
  EXPECT_EQ(bend_of(line_curve(10e-6, 4e9)), "");
}

// CASES N6: busbw 28 GB/s up to 64 MiB, 5 GB/s above.
TEST(TransferCurve, ACollapseIsSaidAndNotAveraged) {
  TransferCurve curve = line_curve(20e-6, 28e9);
  curve.ranks = 8;
  for (std::int64_t bytes = 128 * kMib; bytes <= 1024 * kMib; bytes *= 2) {
    const double s = static_cast<double>(bytes) / 5e9;
    curve.points.push_back({bytes, s, s, s, 20, 0});
  }
  EXPECT_THAT(bend_of(curve), HasSubstr("all_reduce among 8 ranks (one_node): bandwidth falls from 27."));
  EXPECT_THAT(bend_of(curve), HasSubstr("to 5.00 GB/s"));
  EXPECT_NEAR(16.0 * kMib / time_at(curve, 16.0 * kMib).seconds / 28e9, 0.97, 0.02);
  EXPECT_NEAR(512.0 * kMib / time_at(curve, 512.0 * kMib).seconds, 5e9, 1e6);
  EXPECT_NEAR(4096.0 * kMib / time_at(curve, 4096.0 * kMib).seconds / 5e9, 1.0, 0.02);
}

TEST(TransferCurve, OnePointIsEnough) {
  TransferCurve curve;
  curve.points = {{1000, 1e-5, 1e-5, 1e-5, 1, 0}};
  EXPECT_DOUBLE_EQ(time_at(curve, 10.0).seconds, 1e-5);
  EXPECT_DOUBLE_EQ(time_at(curve, 2000.0).seconds, 2e-5);
}

}  // namespace
}  // namespace orrery::hardware
