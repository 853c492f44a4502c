// Interpolation at scattered points: clean points and slopes are followed, noise is averaged, outliers are
// ignored, and far away the prior remains.
#include "sim/cost/scattered.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace orrery::sim {
namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  double uniform(double least, double most) {
    return least + (most - least) * static_cast<double>(random_()) / 4294967296.0;
  }

 private:
  std::mt19937 random_;
};

double surface(const ScatteredPlace& at) { return 0.3 + 0.2 * at[0] - 0.1 * at[1] + 0.05 * std::sin(at[2]); }

std::vector<ScatteredPoint> points_of_surface(int count, double noise, Dice& dice) {
  std::vector<ScatteredPoint> points;
  for (int i = 0; i < count; ++i) {
    const ScatteredPlace at = {dice.uniform(0, 6), dice.uniform(0, 6), dice.uniform(0, 6)};
    points.push_back({at, surface(at) + dice.uniform(-noise, noise)});
  }
  return points;
}

double worst_miss(const ScatteredField& field, Dice& dice) {
  double worst = 0.0;
  for (int i = 0; i < 200; ++i) {
    const ScatteredPlace at = {dice.uniform(1, 5), dice.uniform(1, 5), dice.uniform(1, 5)};
    worst = std::max(worst, std::abs(field.at(at) - surface(at)));
  }
  return worst;
}

TEST(Scattered, CleanPointsAreMetAndFollowed) {
  Dice dice(7);
  const std::vector<ScatteredPoint> points = points_of_surface(150, 0.0, dice);
  const ScatteredField field(points, 0.0);
  for (const ScatteredPoint& p : points) EXPECT_NEAR(field.at(p.at), p.value, 0.01);
  EXPECT_LT(worst_miss(field, dice), 0.03);
}

TEST(Scattered, NoiseIsAveraged) {
  Dice dice(8);
  const ScatteredField field(points_of_surface(300, 0.3, dice), 0.0);
  EXPECT_LT(worst_miss(field, dice), 0.3);  // less than a single point's
  double sum = 0.0;
  for (const double m : field.missed()) sum += std::abs(m);
  EXPECT_NEAR(sum / static_cast<double>(field.missed().size()), 0.15, 0.06);  // the mean size of the noise
}

TEST(Scattered, OutliersAreIgnored) {
  Dice dice(9);
  std::vector<ScatteredPoint> points = points_of_surface(150, 0.01, dice);
  for (std::size_t i = 0; i < points.size(); i += 12) points[i].value += 1.2;
  EXPECT_LT(worst_miss(ScatteredField(points, 0.0), dice), 0.15);
}

TEST(Scattered, FarAwayThePriorRemains) {
  Dice dice(10);
  const ScatteredField field(points_of_surface(60, 0.0, dice), -0.5);
  EXPECT_NEAR(field.at({500.0, 500.0, 500.0}), -0.5, 1e-3);
  EXPECT_DOUBLE_EQ(ScatteredField({}, 0.25).at({1.0}), 0.25);
}

TEST(Scattered, StaysWithinItsNeighboursAndThePrior) {
  const ScatteredField field({{{0}, 0.0}, {{1}, 0.1}, {{2}, 0.5}, {{3}, 0.4}}, 0.0);
  for (double x = -3.0; x < 6.0; x += 0.1) {
    EXPECT_GE(field.at({x}), 0.0);
    EXPECT_LE(field.at({x}), 0.5);
  }
}

}  // namespace
}  // namespace orrery::sim
