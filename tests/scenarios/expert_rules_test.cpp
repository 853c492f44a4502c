// Experts: their grid is solved, and each refusal has its reason and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Parts;
using testing::read;
using testing::Read;

// Eight experts of 4096 columns in each of 32 layers; `more` joins the experts, `model` the model.
std::string sparse(const std::string& more = "", const std::string& model = "") {
  return R"({ "layers": 32, "heads": 32, "hidden": 4096, "ffn_hidden": 16384, "vocab": 51200, "max_positions": 2048,
    "mlp_bias": false, )" +
         model + R"("experts": { "count": 8, "top_k": 2, "ffn_hidden": 4096)" + more + " } }";
}

void expect_one_error(const Parts& parts, const std::string& message, const std::string& hint) {
  const Read r = read(parts);
  EXPECT_EQ(r.errors(), 1U) << r.text();
  EXPECT_THAT(r.text(), HasSubstr(message));
  EXPECT_THAT(r.text(), HasSubstr(hint));
}

TEST(ExpertGrid, IsSolvedApartFromTheRest) {
  const Read r = read(Parts{.model = sparse(), .parallel = R"("tp": 2, "sp": true, "pp": 2, "ep": 4, "etp": 1)"});
  ASSERT_EQ(r.errors(), 0U) << r.text();
  const Parallel& p = r.scenario.parallel;
  EXPECT_EQ(p.dp, 8);
  EXPECT_EQ(p.edp, 4);
  EXPECT_EQ(p.ep_stride, 1);
  EXPECT_EQ(p.edp_stride, 4);
  EXPECT_EQ(read(Parts{.model = sparse(), .parallel = R"("tp": 2, "sp": true)"}).scenario.parallel.etp, 2);
}

TEST(ExpertGrid, CapacityIsTheModelsUnlessStated) {
  const std::string model = sparse(R"(, "capacity_factor": 1.25)");
  EXPECT_EQ(read(Parts{.model = model}).scenario.experts.capacity_factor, 1.25);
  EXPECT_EQ(read(Parts{.model = model, .rest = R"("experts": { "capacity_factor": 0 })"}).scenario.experts.capacity_factor, 0.0);
}

TEST(ExpertRule, TheGridNeedsExperts) {
  expect_one_error(Parts{.parallel = R"("ep": 2)"}, "ep=2, but the model has no experts", "use ep 1");
  expect_one_error(Parts{.parallel = R"("etp": 2)"}, "etp=2 differs from tp=1", "leave it out");
  expect_one_error(Parts{.rest = R"("experts": { "balance": "zipf" })"}, "but the model has none", "leave it out");
}

TEST(ExpertRule, Divides) {
  expect_one_error(Parts{.model = sparse(), .parallel = R"("ep": 16)"}, "ep=16 does not divide the 8 experts", "use ep 8");
  expect_one_error(Parts{.model = sparse(), .nodes = 3, .parallel = R"("etp": 3)",
                         .training = R"("global_batch": 48, "micro_batch": 1, "sequence_length": 1024)"},
                   "etp=3 does not divide the 4096 columns", "use etp 2 or 4");
  expect_one_error(Parts{.model = sparse(R"(, "shared_ffn_hidden": 1023)"), .parallel = R"("tp": 2, "sp": true)"},
                   "tp=2 does not divide the 1023 columns of the shared experts", "use tp 1 or 3");
}

TEST(ExpertRule, TensorRanksRouteTokensOfTheirOwn) {
  expect_one_error(Parts{.model = sparse(), .parallel = R"("tp": 2)"}, "experts with tp=2 need sequence parallelism",
                   "set sp to true");
}

TEST(ExpertRule, RanksOfAStageAreAdjacent) {
  expect_one_error(Parts{.model = sparse(), .parallel = R"("tp": 2, "sp": true, "pp": 2, "order": "tp-pp-dp")"},
                   "the ranks of a stage do not follow each other", "put pp last");
}

TEST(ExpertRule, BalanceAndCountsBelongTogether) {
  expect_one_error(Parts{.model = sparse(), .rest = R"("experts": { "balance": "counts" })"}, "belong together", "both or neither");
  expect_one_error(Parts{.model = sparse(), .rest = R"("experts": { "balance": "counts", "counts": [1, 2] })"},
                   "2 counts for 8 experts", "one for each expert");
}

TEST(ExpertRule, PredictionModulesAreCountedOnly) {
  const Read r = read(Parts{.model = sparse("", R"("prediction_layers": 1, )")});
  EXPECT_EQ(r.errors(), 0U) << r.text();
  EXPECT_THAT(r.text(), HasSubstr("warning: the model's module for multi-token prediction is counted, not trained"));
  EXPECT_THAT(read(Parts{.model = sparse()}).text(), Not(HasSubstr("prediction")));
}

TEST(ExpertRule, DispatchIsByPairsOrByNode) {
  const Read r = read(Parts{.model = sparse(), .parallel = R"("ep": 8)", .rest = R"("experts": { "dispatch": "by_node" })"});
  EXPECT_EQ(r.errors(), 0U) << r.text();
  EXPECT_EQ(r.scenario.experts.dispatch, Dispatch::by_node);
  EXPECT_EQ(read(Parts{.model = sparse()}).scenario.experts.dispatch, Dispatch::pairs);
  EXPECT_THAT(read(Parts{.model = sparse(), .rest = R"("experts": { "dispatch": "by_node" })"}).text(),
              HasSubstr("experts.dispatch has no effect: ep is 1"));
}

TEST(ExpertRule, WhatCannotBeTrainedYet) {
  expect_one_error(Parts{.model = sparse("", R"("attention_sinks": true, )")}, "attention with sinks cannot be trained yet",
                   "another model");
  expect_one_error(Parts{.model = sparse(R"(, "router_bias": true)")}, "a router with a trained bias", "another model");
  expect_one_error(Parts{.model = sparse(), .rest = R"("offload": { "optimizer": "cpu" })"},
                   "optimizer states of experts cannot be on the host yet", "use \"none\"");
  expect_one_error(Parts{.model = sparse(), .rest = R"("compression": { "top_k": 0.1 })"},
                   "gradients of experts cannot be compressed yet", "use 0");
}

}  // namespace
}  // namespace orrery::scenarios
