// Every parallel plan computes what one rank computes: loss, gradients and updated weights of two optimizer steps
// against the reference model, under several orders of the ranks' streams. Each plan states only what it changes from
// one rank with one microbatch.
#include <gtest/gtest.h>

#include <map>

#include "tests/interpreter/named_plans.h"
#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/tiny_models.h"

namespace orrery::interpreter {
namespace {

using models::Architecture;
using scenarios::Scenario;

constexpr std::int64_t kSteps = 2;

void expect_reference(const Architecture& a, const NamedPlan& plan) {
  SCOPED_TRACE(a.name + ", " + plan.name);
  Scenario scenario = plain_scenario(a);
  plan.set(scenario);
  resolve(scenario);
  const Outcome reference = reference_outcome(scenario, kSteps);
  for (const Order order : {Order::round_robin, Order::rank_first, Order::rank_last, Order::random}) {
    try {
      const Outcome outcome = run_plan(scenario, {.order = order, .seed = 5, .steps = kSteps});
      EXPECT_EQ(difference(outcome, reference), "") << "order " << static_cast<int>(order);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "order " << static_cast<int>(order) << ": " << error.what();
    }
  }
}

class Plans : public testing::TestWithParam<NamedPlan> {};

TEST_P(Plans, GptIsTheReference) { expect_reference(tiny_gpt(), GetParam()); }
TEST_P(Plans, LlamaIsTheReference) { expect_reference(tiny_llama(), GetParam()); }
// Dropout masks must not depend on the plan either.
TEST_P(Plans, GptWithDropoutIsTheReference) {
  Architecture a = tiny_gpt();
  a.dropout = 0.2;
  expect_reference(a, GetParam());
}

std::string name_of(const testing::TestParamInfo<NamedPlan>& info) { return test_name(info.param); }

INSTANTIATE_TEST_SUITE_P(Basic, Plans, testing::ValuesIn(basic_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Recompute, Plans, testing::ValuesIn(recompute_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Tensor, Plans, testing::ValuesIn(tensor_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Pipeline, Plans, testing::ValuesIn(pipeline_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Schedules, Plans, testing::ValuesIn(schedule_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Data, Plans, testing::ValuesIn(data_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Sharding, Plans, testing::ValuesIn(sharding_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Combined, Plans, testing::ValuesIn(combined_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Context, Plans, testing::ValuesIn(context_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Overlap, Plans, testing::ValuesIn(overlap_plans()), name_of);

// The other architectures under the plans that treat their parts differently.
class Architectures : public testing::TestWithParam<std::string> {};

TEST_P(Architectures, AgreeWithTheReference) {
  const std::map<std::string, Architecture> all = {{"bloom", tiny_bloom()},   {"falcon", tiny_falcon()},
                                                   {"neox", tiny_neox()},     {"gemma", tiny_gemma()},
                                                   {"gated_biases", tiny_gated_biases()}};
  const Architecture& a = all.at(GetParam());
  expect_reference(a, {"one rank", [](Scenario&) {}});
  expect_reference(a, {"separate", [](Scenario& s) { s.kernels.fused_attention = s.kernels.fused_elementwise = false; }});
  expect_reference(a, {"full recomputation", [](Scenario& s) { s.training.recompute = scenarios::Recompute::full; }});
  expect_reference(a, {"TP2", tensor_parallel});
  expect_reference(a, {"TP2 with SP", sequence_parallel});
  expect_reference(a, {"ZeRO-3", [](Scenario& s) { zero_stage(s, 3); }});
  expect_reference(a, {"TP2 SP x PP2 x DP2", three_dimensional});
}
INSTANTIATE_TEST_SUITE_P(All, Architectures, testing::Values("bloom", "falcon", "neox", "gemma", "gated_biases"),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace orrery::interpreter
