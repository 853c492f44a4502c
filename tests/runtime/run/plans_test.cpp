// Every plan trains as one rank does: ten optimizer steps, in float and in double, GPT- and Llama-style.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/interpreter/named_plans.h"
#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/random_plan.h"
#include "tests/interpreter/tiny_models.h"
#include "tests/runtime/run/plan_outcome.h"

namespace orrery::runtime {
namespace {

using interpreter::NamedPlan;
using scenarios::Scenario;

struct Tolerances {
  double loss = 0.0, tensor = 0.0;
};
constexpr Tolerances kFloat{1e-5, 1e-4}, kDouble{1e-9, 1e-9};

// The same training on one rank with one microbatch: what a plan changes is only how it is cut.
Scenario one_rank(const Scenario& s) {
  Scenario one = interpreter::plain_scenario(s.model);
  one.training = s.training;
  one.training.micro_batch = s.training.global_batch;
  one.training.recompute = scenarios::Recompute::none;
  one.recipe = s.recipe;
  interpreter::resolve(one);
  return one;
}

// The gradient of a key's bias is zero but for rounding: softmax does not see a shift of all scores of a query.
bool has_no_gradient(const std::string& name) { return name.find("key_bias") != std::string::npos || name.find("qkv_bias") != std::string::npos; }

std::string difference(const PlanOutcome& plan, const PlanOutcome& one, const Scenario& s, const Tolerances& t) {
  std::string text;
  for (std::size_t i = 0; i < one.losses.size(); ++i)
    if (!(std::abs(plan.losses[i] - one.losses[i]) <= t.loss * std::abs(one.losses[i])))
      text += fmt::format("loss of step {}: {:.12g}, one rank {:.12g}\n", i, plan.losses[i], one.losses[i]);
  const auto compare = [&](const char* what, const GlobalTensors& a, const GlobalTensors& b, double floor_of_each) {
    for (const auto& [name, tensor] : b) {
      const auto found = a.find(name);
      if (found == a.end()) {
        text += fmt::format("{} {} is missing\n", what, name);
        continue;
      }
      if (has_no_gradient(name)) continue;
      const Distance d = distance(found->second, tensor);
      const double floor = floor_of_each * std::sqrt(static_cast<double>(d.elements));
      if (!(d.off <= t.tensor * std::max(d.size, floor)))
        text += fmt::format("{} of {}: off by {:.3g} of {:.3g}\n", what, name, d.off, d.size);
    }
    if (a.size() != b.size()) text += fmt::format("{} {} tensors, one rank {}\n", a.size(), what, b.size());
  };
  compare("gradient", plan.gradients, one.gradients, 0.0);
  compare("weight", plan.weights, one.weights, s.training.learning_rate);
  return text;
}

void expect_one_rank(const Scenario& scenario, bool in_double, std::int64_t steps) {
  RunOptions options;
  options.steps = steps;
  options.in_double = in_double;
  const PlanOutcome one = perform(one_rank(scenario), options);
  const PlanOutcome plan = perform(scenario, options);
  EXPECT_EQ(difference(plan, one, scenario, in_double ? kDouble : kFloat), "");
  EXPECT_LT(one.losses.back(), one.losses.front());
}

models::Architecture model_of(const std::string& name) { return name == "gpt" ? interpreter::tiny_gpt() : interpreter::tiny_llama(); }

class Plans : public testing::TestWithParam<std::tuple<NamedPlan, std::string, bool>> {};

TEST_P(Plans, TrainAsOneRankDoes) {
  const auto& [plan, model, in_double] = GetParam();
  Scenario scenario = interpreter::plain_scenario(model_of(model));
  scenario.training.precision = hardware::Precision::fp32;
  scenario.training.learning_rate = 1e-3;
  scenario.recipe.weight_bytes = scenario.recipe.gradient_bytes = 4;
  plan.set(scenario);
  interpreter::resolve(scenario);
  expect_one_rank(scenario, in_double, 10);
}

std::string name_of(const testing::TestParamInfo<Plans::ParamType>& info) {
  return test_name(std::get<0>(info.param)) + "_" + std::get<1>(info.param) + (std::get<2>(info.param) ? "_double" : "_float");
}

auto all_of(const std::vector<NamedPlan>& plans) {
  return testing::Combine(testing::ValuesIn(plans), testing::Values("gpt", "llama"), testing::Bool());
}
INSTANTIATE_TEST_SUITE_P(Basic, Plans, all_of(interpreter::basic_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Recompute, Plans, all_of(interpreter::recompute_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Tensor, Plans, all_of(interpreter::tensor_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Pipeline, Plans, all_of(interpreter::pipeline_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Data, Plans, all_of(interpreter::data_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Combined, Plans, all_of(interpreter::combined_plans()), name_of);

}  // namespace
}  // namespace orrery::runtime
