// Interpolation at scattered points: points themselves, slopes, and nothing beyond what the neighbours say.
#include "sim/cost/scattered.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace orrery::sim {
namespace {

TEST(Scattered, APointIsItself) {
  const std::vector<ScatteredPoint> points = {{{0, 0}, 1.0}, {{1, 0}, 2.0}, {{0, 1}, 5.0}, {{3, 3}, -1.0}};
  for (const ScatteredPoint& p : points) EXPECT_NEAR(interpolate(points, p.at), p.value, 1e-5);
}

TEST(Scattered, ASlopeIsFollowedThroughUnevenPoints) {
  std::mt19937 random(7);
  const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
  const auto plane = [](const ScatteredPlace& at) { return 0.3 + 0.2 * at[0] - 0.1 * at[1] + 0.05 * at[2]; };
  std::vector<ScatteredPoint> points;
  for (int i = 0; i < 200; ++i) {
    const ScatteredPlace at = {6 * uniform(), 6 * uniform(), 6 * uniform()};
    points.push_back({at, plane(at)});
  }
  for (int i = 0; i < 100; ++i) {
    const ScatteredPlace at = {1 + 4 * uniform(), 1 + 4 * uniform(), 1 + 4 * uniform()};
    EXPECT_NEAR(interpolate(points, at), plane(at), 0.03);
  }
}

TEST(Scattered, StaysWithinItsNeighbours) {
  const std::vector<ScatteredPoint> row = {{{0}, 0.0}, {{1}, 0.1}, {{2}, 0.5}};
  for (double x = -3.0; x < 6.0; x += 0.1) {
    EXPECT_GE(interpolate(row, {x}), 0.0);
    EXPECT_LE(interpolate(row, {x}), 0.5);
  }
}

TEST(Scattered, GrowsBetweenPointsThatGrow) {
  const std::vector<ScatteredPoint> row = {{{0}, 0.0}, {{1}, 0.1}, {{2}, 0.5}, {{3}, 0.6}, {{4}, 1.5}};
  double last = -1.0;
  for (double x = 0.0; x <= 4.0; x += 0.02) {
    const double now = interpolate(row, {x});
    EXPECT_GE(now, last - 1e-3) << x;
    last = now;
  }
}

}  // namespace
}  // namespace orrery::sim
