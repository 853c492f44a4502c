// The solver against the definition of max-min fairness, on every small problem of a kind and on random ones.
#include "sim/engine/sharing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace orrery::sim::engine {
namespace {

using Problem = std::vector<std::vector<Load>>;

std::vector<std::int64_t> rates_of(const Problem& problem) {
  MaxMinSolver solver;
  for (const auto& loads : problem) solver.add_activity(loads);
  const auto rates = solver.solve();
  return {rates.begin(), rates.end()};
}

// Brute force: raise all rising activities by small equal steps until a resource is full; stop those on it.
std::vector<double> filled_slowly(const Problem& problem, std::size_t resources, int steps) {
  std::vector<double> rate(problem.size(), 0.0);
  std::vector<bool> fixed(problem.size(), false);
  for (int step = 0; step < steps; ++step) {
    std::vector<double> next = rate, used(resources, 0.0);
    for (std::size_t i = 0; i < problem.size(); ++i) {
      if (!fixed[i]) next[i] += 1.0 / steps;
      for (const Load& l : problem[i]) used[l.resource] += l.weight * next[i];
    }
    for (std::size_t i = 0; i < problem.size(); ++i)
      for (const Load& l : problem[i])
        if (used[l.resource] > kFullLoad) fixed[i] = true;
    for (std::size_t i = 0; i < problem.size(); ++i)
      if (!fixed[i]) rate[i] = next[i];
  }
  return rate;
}

void expect_max_min(const Problem& problem, std::size_t resources) {
  const std::vector<std::int64_t> rates = rates_of(problem);
  std::vector<std::int64_t> used(resources, 0), rising(resources, 0);
  for (std::size_t i = 0; i < problem.size(); ++i)
    for (const Load& l : problem[i]) {
      used[l.resource] += l.weight * rates[i];
      rising[l.resource] += l.weight;
    }
  for (std::size_t k = 0; k < resources; ++k) ASSERT_LE(used[k], std::int64_t{kFullLoad} * kFullRate);
  const std::vector<double> slow = filled_slowly(problem, resources, 4000);
  for (std::size_t i = 0; i < problem.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(rates[i]) / kFullRate, slow[i], 0.002) << "activity " << i;
    // Each activity runs at full speed, or has a full resource on which nobody is faster.
    bool justified = rates[i] == kFullRate;
    for (const Load& l : problem[i]) {
      bool fastest = true;
      for (std::size_t j = 0; j < problem.size(); ++j)
        for (const Load& other : problem[j]) fastest &= other.resource != l.resource || rates[j] <= rates[i];
      const std::int64_t room = std::int64_t{kFullLoad} * kFullRate - used[l.resource];
      justified |= fastest && room < rising[l.resource];  // less than one unit of rate for each
    }
    EXPECT_TRUE(justified) << "activity " << i;
  }
}

TEST(Sharing, AloneIsFull) {
  EXPECT_EQ(rates_of({{{0, kFullLoad}, {1, 5}}}), std::vector<std::int64_t>{kFullRate});
}

TEST(Sharing, EqualActivitiesShareEvenly) {
  EXPECT_EQ(rates_of({{{0, kFullLoad}}, {{0, kFullLoad}}}), std::vector<std::int64_t>(2, kFullRate / 2));
  EXPECT_EQ(rates_of({{{0, kFullLoad}}, {{0, kFullLoad}}, {{0, kFullLoad}}}),
            std::vector<std::int64_t>(3, kFullRate / 3));
}

TEST(Sharing, DoubleWeightIsTwoActivities) {
  const auto twice = rates_of({{{0, 2 * kFullLoad}}, {{0, kFullLoad}}});
  const auto two = rates_of({{{0, kFullLoad}}, {{0, kFullLoad}}, {{0, kFullLoad}}});
  EXPECT_EQ(twice[0], two[0]);
  EXPECT_EQ(twice[1], two[2]);
}

// A long flow over two links with a short one on each: the classic parking lot.
TEST(Sharing, ParkingLot) {
  const auto r = rates_of({{{0, kFullLoad}, {1, kFullLoad}}, {{0, kFullLoad}}, {{1, kFullLoad / 4}}});
  EXPECT_EQ(r, (std::vector<std::int64_t>{kFullRate / 2, kFullRate / 2, kFullRate}));
}

TEST(Sharing, EverySmallProblem) {
  const std::uint32_t weights[] = {0, 30000, kFullLoad};  // three activities on two resources
  for (int code = 0; code < 729; ++code) {
    Problem problem(3);
    int rest = code;
    for (auto& loads : problem)
      for (std::uint32_t k = 0; k < 2; ++k, rest /= 3)
        if (weights[rest % 3] > 0) loads.push_back({k, weights[rest % 3]});
    expect_max_min(problem, 2);
    if (HasFailure()) FAIL() << code;
  }
}

TEST(Sharing, RandomProblemsInAnyOrder) {
  std::mt19937 random(7);
  for (int n = 0; n < 150; ++n) {
    const std::size_t resources = 1 + random() % 4, activities = 1 + random() % 6;
    Problem problem(activities);
    for (auto& loads : problem)
      for (std::uint32_t k = 0; k < resources; ++k)
        if (random() % 2 == 0)
          loads.push_back({k, 1 + static_cast<std::uint32_t>(random() % (2 * kFullLoad))});
    expect_max_min(problem, resources);
    std::vector<std::int64_t> rates = rates_of(problem);
    std::reverse(problem.begin(), problem.end());
    std::reverse(rates.begin(), rates.end());
    EXPECT_EQ(rates_of(problem), rates);
    if (HasFailure()) FAIL() << n;
  }
}

}  // namespace
}  // namespace orrery::sim::engine
