// Stages balanced by the tool: the dynamic programme against every cut of small models, and what it does to plans.
#include "scenarios/balance_stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

using ::testing::HasSubstr;
using testing::Parts;
using testing::read;
using testing::Read;

double dearest(const std::vector<std::int64_t>& cut, const StageCost& cost) {
  double most = 0.0;
  for (std::size_t v = 0; v < cut.size(); ++v) most = std::max(most, cost(static_cast<std::int64_t>(v), cut[v]));
  return most;
}

// The least dearest stage of all cuts of `left` layers into the stages from `cut.size()` on.
double best_of_all(std::vector<std::int64_t>& cut, std::int64_t left, std::int64_t stages, const StageCost& cost) {
  const auto at = static_cast<std::int64_t>(cut.size());
  if (at == stages) return left == 0 ? dearest(cut, cost) : 1e300;
  double best = 1e300;
  for (std::int64_t take = at == 0 || at + 1 == stages ? 0 : 1; take <= left; ++take) {
    cut.push_back(take);
    best = std::min(best, best_of_all(cut, left - take, stages, cost));
    cut.pop_back();
  }
  return best;
}

TEST(Balance, CheapestOfAllCuts) {
  for (const std::int64_t stages : {2, 3, 4, 5})
    for (const std::int64_t layers : {3, 6, 9})
      for (const double head : {0.0, 0.7, 1.0, 2.5, 6.0}) {
        const StageCost cost = [&](std::int64_t stage, std::int64_t n) {
          return static_cast<double>(n) * (1.0 + 0.25 * static_cast<double>(stages - stage)) + (stage + 1 == stages ? head : 0.0);
        };
        const std::vector<std::int64_t> cut = cheapest_cut(layers, stages, cost);
        EXPECT_EQ(std::accumulate(cut.begin(), cut.end(), std::int64_t{0}), layers);
        std::vector<std::int64_t> none;
        EXPECT_DOUBLE_EQ(dearest(cut, cost), best_of_all(none, layers, stages, cost)) << stages << " " << layers << " " << head;
      }
}

// A head that weighs as much as some layers takes layers from the last stage; without a head stages are even.
TEST(Balance, TheHeadCounts) {
  const Read r = read(Parts{.parallel = R"("pp": 4, "layers_per_stage": "balanced")"});
  EXPECT_EQ(r.errors(), 0U) << r.text();
  const std::vector<std::int64_t>& cut = r.scenario.parallel.layers_of_stage;
  EXPECT_EQ(std::accumulate(cut.begin(), cut.end(), std::int64_t{0}), 32);
  EXPECT_LE(cut.back(), cut.front());
  EXPECT_LE(*std::max_element(cut.begin(), cut.end()) - *std::min_element(cut.begin(), cut.end()), 1 + 1);
}

// 1F1B keeps p microbatches on the first stage and one on the last, so memory wants fewer layers in front.
TEST(Balance, MemoryWantsFewerLayersInFront) {
  const Read r = read(Parts{.parallel = R"("pp": 4, "layers_per_stage": "balanced_memory")",
                            .training = R"("global_batch": 256, "micro_batch": 8, "sequence_length": 2048)"});
  EXPECT_EQ(r.errors(), 0U) << r.text();
  const std::vector<std::int64_t>& cut = r.scenario.parallel.layers_of_stage;
  EXPECT_EQ(std::accumulate(cut.begin(), cut.end(), std::int64_t{0}), 32);
  EXPECT_LT(cut[0], cut[1]);
  EXPECT_LT(cut[1], cut[2]);
}

TEST(Balance, TooManyStages) {
  const Read r = read(Parts{.layers = 4, .parallel = R"("pp": 8, "layers_per_stage": "balanced")"});
  EXPECT_THAT(r.text(), HasSubstr("pp=8 is more stages than the model's 4 layers can be balanced over"));
}

TEST(RecomputeLayers, BelongToFullRecomputationAndToStages) {
  const auto with = [](const std::string& training) {
    return read(Parts{.parallel = R"("pp": 4)", .training = R"("global_batch": 64, "micro_batch": 1, "sequence_length": 1024, )" + training});
  };
  EXPECT_THAT(with(R"("recompute_layers": 2)").text(), HasSubstr("recompute_layers says which layers full recomputation covers, but recompute is none"));
  EXPECT_THAT(with(R"("recompute": "full", "recompute_layers": 9)").text(), HasSubstr("recompute_layers=9 is more than any stage has"));
  EXPECT_THAT(with(R"("recompute": "full", "recompute_layers": [1, 2])").text(), HasSubstr("recompute_layers has 2 entries, but there are 4 virtual stages"));
  EXPECT_THAT(with(R"("recompute": "full", "recompute_layers": [9, 1, 1, 1])").text(), HasSubstr("virtual stage 0 has 8 layers and cannot recompute 9"));
  const Read good = with(R"("recompute": "full", "recompute_layers": [8, 4, 0, 0])");
  EXPECT_EQ(good.errors(), 0U) << good.text();
  EXPECT_EQ(good.scenario.training.recompute_layers, (std::vector<std::int64_t>{8, 4, 0, 0}));
  EXPECT_EQ(with(R"("recompute": "full", "recompute_layers": 3)").scenario.training.recompute_layers, (std::vector<std::int64_t>{3, 3, 3, 3}));
}

}  // namespace
}  // namespace orrery::scenarios
