// Kernels of experts against plain loops in double: the choice by its definition, the gradient by differences, rows by
// what they must hold.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "kernels/cpu/experts/expert_rows.h"
#include "kernels/cpu/experts/experts_reference.h"
#include "kernels/cpu/experts/route.h"

namespace orrery::kernels {
namespace {

double noise(std::int64_t i) { return std::sin(12.9898 * static_cast<double>(i) + 0.3) * 2.0; }

template <typename T>
struct Table {
  Table(std::int64_t r, std::int64_t c) : rows(r), columns(c), values(static_cast<std::size_t>(r * c)) {}
  Matrix<T> view() { return {values.data(), rows, columns, columns}; }
  In<T> in() { return view(); }
  T& at(std::int64_t r, std::int64_t c) { return values[static_cast<std::size_t>(r * columns + c)]; }
  std::int64_t rows, columns;
  std::vector<T> values;
};

struct Routed {
  Table<double> x, weights;
  Table<std::int32_t> routes, counts;
};

Routed route(const Routing& routing, std::int64_t tokens, std::int64_t experts) {
  Routed r{{tokens, experts}, {tokens, routing.top_k}, {tokens, routing.top_k}, {1, experts}};
  for (std::size_t i = 0; i < r.x.values.size(); ++i) r.x.values[i] = noise(static_cast<std::int64_t>(i));
  route_forward<double>(routing, r.x.in(), {}, r.weights.view(), r.routes.view(), r.counts.view());
  return r;
}

std::vector<double> row(Table<double>& t, std::int64_t r) {
  return {t.values.begin() + r * t.columns, t.values.begin() + (r + 1) * t.columns};
}

const std::vector<Routing>& routings() {
  static const std::vector<Routing> all = {
      {.top_k = 1, .normalized = false},
      {.top_k = 3, .normalized = true},
      {.top_k = 3, .groups = 4, .top_groups = 2, .normalized = false, .scale = 16.0},
      {.top_k = 4, .groups = 4, .top_groups = 2, .sigmoid = true, .normalized = true, .scale = 2.5},
      {.top_k = 2, .capacity = 3, .normalized = true}};
  return all;
}

TEST(Route, ChoosesTheBestOfTheBestGroups) {
  constexpr std::int64_t kTokens = 40, kExperts = 8;
  for (const Routing& routing : routings()) {
    Routed r = route(routing, kTokens, kExperts);
    const std::int64_t size = kExperts / routing.groups;
    for (std::int64_t t = 0; t < kTokens; ++t) {
      std::vector<double> s = reference::scores(routing, row(r.x, t)), groups;
      for (std::int64_t g = 0; g < routing.groups; ++g) {
        std::vector<double> members(s.begin() + g * size, s.begin() + (g + 1) * size);
        std::sort(members.rbegin(), members.rend());
        groups.push_back(members[0] + (routing.sigmoid && size > 1 ? members[1] : 0.0));
      }
      for (std::int64_t e = 0; e < kExperts; ++e)
        if (reference::place_of(groups, static_cast<std::size_t>(e / size)) >= routing.top_groups)
          s[static_cast<std::size_t>(e)] = -1.0;
      std::vector<std::int32_t> experts;
      for (std::int64_t j = 0; j < routing.top_k; ++j) {
        const std::int32_t e = r.routes.at(t, j);
        experts.push_back(e < 0 ? -1 - e : e);
        EXPECT_EQ(reference::place_of(s, static_cast<std::size_t>(experts.back())), j) << t;
      }
      const std::vector<double> w = reference::weights(routing, row(r.x, t), experts);
      for (std::int64_t j = 0; j < routing.top_k; ++j)
        EXPECT_NEAR(r.weights.at(t, j), w[static_cast<std::size_t>(j)], 1e-14);
    }
  }
}

TEST(Route, CountsAreTheRoutesAndCapacityIsKept) {
  for (const Routing& routing : routings()) {
    Routed r = route(routing, 40, 8);
    std::vector<std::int32_t> counted(8, 0);
    std::int64_t dropped = 0;
    for (const std::int32_t e : r.routes.values)
      if (e >= 0) ++counted[static_cast<std::size_t>(e)];
      else ++dropped;
    EXPECT_EQ(counted, r.counts.values);
    EXPECT_EQ(dropped > 0, routing.capacity > 0);
    for (const std::int32_t n : counted) EXPECT_TRUE(routing.capacity == 0 || n <= routing.capacity);
  }
}

TEST(Route, BiasChangesTheChoiceAndNotTheWeights) {
  const Routing routing{.top_k = 2, .sigmoid = true, .normalized = false};
  Routed r = route(routing, 10, 8);
  Table<double> bias(8, 1);
  bias.values[5] = 10.0;
  route_forward<double>(routing, r.x.in(), bias.in(), r.weights.view(), r.routes.view(), r.counts.view());
  EXPECT_EQ(r.counts.values[5], 10);
  for (std::int64_t t = 0; t < 10; ++t)
    EXPECT_NEAR(r.weights.at(t, 0), reference::scores(routing, row(r.x, t))[5], 1e-14);
}

TEST(Route, GradientIsTheDifferenceQuotient) {
  for (const Routing& routing : routings()) {
    Routed r = route(routing, 12, 8);
    Table<double> dw(12, routing.top_k), dx(12, 8);
    for (std::size_t i = 0; i < dw.values.size(); ++i) dw.values[i] = noise(static_cast<std::int64_t>(i) + 77);
    route_backward<double>(routing, dw.in(), r.x.in(), r.routes.in(), {dx.view(), false});
    for (std::int64_t t = 0; t < 12; ++t) {
      std::vector<std::int32_t> experts;
      for (std::int64_t j = 0; j < routing.top_k; ++j)
        experts.push_back(r.routes.at(t, j) < 0 ? -1 - r.routes.at(t, j) : r.routes.at(t, j));
      const auto value = [&](std::int64_t e, double change) {
        std::vector<double> x = row(r.x, t);
        x[static_cast<std::size_t>(e)] += change;
        const std::vector<double> w = reference::weights(routing, x, experts);
        double sum = 0.0;
        for (std::int64_t j = 0; j < routing.top_k; ++j) sum += dw.at(t, j) * w[static_cast<std::size_t>(j)];
        return sum;
      };
      for (std::int64_t e = 0; e < 8; ++e)
        EXPECT_NEAR(dx.at(t, e), (value(e, 1e-6) - value(e, -1e-6)) / 2e-6, 1e-7) << t << " " << e;
    }
  }
}

TEST(ExpertRows, EveryChoiceHasItsRowAndComesBack) {
  constexpr std::int64_t kTokens = 20, kColumns = 5;
  for (const Routing& routing : routings()) {
    Routed r = route(routing, kTokens, 8);
    Table<double> x(kTokens, kColumns), rows(kTokens * routing.top_k, kColumns), y(kTokens, kColumns);
    for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] = noise(static_cast<std::int64_t>(i) + 5);
    permute_rows<double>(x.in(), r.routes.in(), 8, {rows.view(), false});
    std::int64_t at = 0;
    for (std::int32_t e = 0; e < 8; ++e)
      for (std::int64_t t = 0; t < kTokens; ++t)
        for (std::int64_t j = 0; j < routing.top_k; ++j) {
          if (r.routes.at(t, j) != e) continue;
          for (std::int64_t c = 0; c < kColumns; ++c) EXPECT_EQ(rows.at(at, c), x.at(t, c));
          ++at;
        }
    combine_rows<double>(rows.in(), r.routes.in(), 8, r.weights.in(), {y.view(), false});
    for (std::int64_t t = 0; t < kTokens; ++t) {
      double kept = 0.0;
      for (std::int64_t j = 0; j < routing.top_k; ++j) kept += r.routes.at(t, j) >= 0 ? r.weights.at(t, j) : 0.0;
      for (std::int64_t c = 0; c < kColumns; ++c) EXPECT_NEAR(y.at(t, c), kept * x.at(t, c), 1e-13);
    }
  }
}

TEST(ExpertRows, CombineBackwardIsItsTranspose) {
  constexpr std::int64_t kTokens = 9, kColumns = 4;
  const Routing routing{.top_k = 3};
  Routed r = route(routing, kTokens, 8);
  Table<double> rows(kTokens * 3, kColumns), dy(kTokens, kColumns), drows(kTokens * 3, kColumns), y(kTokens, kColumns);
  Table<double> dweights(kTokens, 3);
  for (std::size_t i = 0; i < rows.values.size(); ++i) rows.values[i] = noise(static_cast<std::int64_t>(i) + 3);
  for (std::size_t i = 0; i < dy.values.size(); ++i) dy.values[i] = noise(static_cast<std::int64_t>(i) + 300);
  combine_rows_backward<double>(dy.in(), rows.in(), r.routes.in(), 8, r.weights.in(), {drows.view(), false},
                                dweights.view());
  combine_rows<double>(rows.in(), r.routes.in(), 8, r.weights.in(), {y.view(), false});
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  EXPECT_NEAR(dot(y.values, dy.values), dot(rows.values, drows.values), 1e-12);       // linear in the rows
  EXPECT_NEAR(dot(y.values, dy.values), dot(r.weights.values, dweights.values), 1e-12);  // and in the weights
}

TEST(ExpertRows, SortingTurnsSendersIntoExpertsAndBack) {
  const std::vector<std::int64_t> lengths = {2, 0, 1, 3, 1, 0};  // two senders, three experts
  Table<double> x(7, 2), y(7, 2), back(7, 2);
  for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] = static_cast<double>(i);
  sort_rows<double>(lengths, 3, false, x.in(), {y.view(), false});
  const std::vector<std::int64_t> order = {0, 1, 3, 4, 5, 6, 2};  // expert 0 of both, expert 1, expert 2
  for (std::size_t r = 0; r < order.size(); ++r)
    EXPECT_EQ(y.at(static_cast<std::int64_t>(r), 0), x.at(order[r], 0)) << r;
  sort_rows<double>(lengths, 3, true, y.in(), {back.view(), false});
  EXPECT_EQ(back.values, x.values);
}

// 16-bit storage rounds once.
TEST(ExpertRows, HalvesAreSummedWide) {
  Table<bf16> x(2, 1), y(1, 1);
  x.values = {bf16(1.0F), bf16(0.00390625F)};
  Table<float> w(1, 2);
  w.values = {1.0F, 1.0F};
  Table<std::int32_t> routes(1, 2);
  routes.values = {0, 1};
  combine_rows<bf16>(x.in(), routes.in(), 2, w.in(), {y.view(), false});
  EXPECT_EQ(static_cast<float>(y.values[0]), static_cast<float>(bf16(1.00390625F)));
}

}  // namespace
}  // namespace orrery::kernels
