// Every plan trains as one rank does: ten optimizer steps, in float and in double, GPT- and Llama-style.
#include <gtest/gtest.h>

#include "tests/interpreter/named_plans.h"
#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/tiny_models.h"
#include "tests/runtime/run/one_rank.h"

namespace orrery::runtime {
namespace {

using interpreter::NamedPlan;
using scenarios::Scenario;

models::Architecture model_of(const std::string& name) {
  return name == "gpt" ? interpreter::tiny_gpt() : interpreter::tiny_llama();
}

class Plans : public testing::TestWithParam<std::tuple<NamedPlan, std::string, bool>> {};

TEST_P(Plans, TrainAsOneRankDoes) {
  const auto& [plan, model, in_double] = GetParam();
  Scenario scenario = interpreter::plain_scenario(model_of(model));
  scenario.training.precision = hardware::Precision::fp32;
  scenario.training.learning_rate = 1e-3;
  scenario.recipe.weight_bytes = scenario.recipe.gradient_bytes = 4;
  plan.set(scenario);
  interpreter::resolve(scenario);
  EXPECT_EQ(difference_from_one_rank(scenario, in_double ? kDouble : kFloat, in_double, 10), "");
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
INSTANTIATE_TEST_SUITE_P(Schedules, Plans, all_of(interpreter::schedule_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Data, Plans, all_of(interpreter::data_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Sharding, Plans, all_of(interpreter::sharding_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Combined, Plans, all_of(interpreter::combined_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Context, Plans, all_of(interpreter::context_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Overlap, Plans, all_of(interpreter::overlap_plans()), name_of);

// Experts over every grid, in double: in float, a choice between two almost equal experts may fall either way.
TEST(ExpertPlans, TrainAsOneRankDoes) {
  struct Grid {
    std::int64_t tp, dp, ep, etp, pp;
    int zero;
  };
  for (const bool deepseek : {false, true})
    for (const Grid& g : {Grid{1, 1, 1, 1, 1, 0}, Grid{1, 2, 2, 1, 1, 0}, Grid{1, 4, 2, 1, 1, 1}, Grid{2, 1, 2, 1, 1, 0},
                          Grid{1, 2, 1, 2, 1, 0}, Grid{2, 2, 2, 2, 1, 2}, Grid{1, 4, 4, 1, 1, 3},
                          Grid{2, 2, 2, 1, 2, 1}}) {
      Scenario s = interpreter::plain_scenario(deepseek ? interpreter::tiny_deepseek() : interpreter::tiny_mixtral());
      s.training.precision = hardware::Precision::fp32;
      s.training.learning_rate = 1e-3;
      s.training.micro_batch = 2;
      s.training.clip_gradient_norm = 0.5;
      s.recipe.weight_bytes = s.recipe.gradient_bytes = 4;
      s.parallel.tp = g.tp;
      s.parallel.sequence_parallel = g.tp > 1;
      s.parallel.dp = g.dp;
      s.parallel.ep = g.ep;
      s.parallel.etp = g.etp;
      s.parallel.pp = g.pp;
      s.parallel.zero = g.zero;
      interpreter::resolve(s);
      EXPECT_EQ(difference_from_one_rank(s, kDouble, true, 5), "")
          << s.model.name << " tp" << g.tp << " dp" << g.dp << " ep" << g.ep << " etp" << g.etp << " zero" << g.zero;
    }
}

// And under schedules in which exchanges of one microbatch run beside products of another.
TEST(ExpertPlans, TrainAsOneRankDoesUnderEverySchedule) {
  using scenarios::PipelineSchedule;
  for (const bool deepseek : {false, true})
    for (const PipelineSchedule schedule : {PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved,
                                            PipelineSchedule::zero_bubble_h1, PipelineSchedule::dual_pipe,
                                            PipelineSchedule::dual_pipe_v}) {
      Scenario s = interpreter::plain_scenario(deepseek ? interpreter::tiny_deepseek() : interpreter::tiny_mixtral());
      s.training.precision = hardware::Precision::fp32;
      s.training.learning_rate = 1e-3;
      s.training.micro_batch = 1;
      s.training.clip_gradient_norm = 0.5;
      s.recipe.weight_bytes = s.recipe.gradient_bytes = 4;
      s.model.layers = 4;
      s.parallel.dp = s.parallel.pp = s.parallel.ep = 2;
      s.parallel.schedule = schedule;
      const scenarios::Chunks chunks = scenarios::traits(schedule).chunks;
      s.parallel.vpp = chunks == scenarios::Chunks::one ? 1 : 2;
      s.overlap.pipeline = s.overlap.expert_exchange = true;
      interpreter::resolve(s);
      EXPECT_EQ(difference_from_one_rank(s, kDouble, true, 5), "") << s.model.name << " " << static_cast<int>(schedule);
    }
}

// What has no room is dropped, by every plan that routes the same tokens together.
TEST(ExpertPlans, DropTheSameTokensOnEveryGrid) {
  const auto trained = [](std::int64_t dp, std::int64_t ep, std::int64_t etp, double capacity) {
    Scenario s = interpreter::plain_scenario(interpreter::tiny_mixtral());
    s.training.precision = hardware::Precision::fp32;
    s.training.learning_rate = 1e-3;
    s.training.micro_batch = 2;
    s.recipe.weight_bytes = s.recipe.gradient_bytes = 4;
    s.parallel.dp = dp;
    s.parallel.ep = ep;
    s.parallel.etp = etp;
    s.experts.capacity_factor = capacity;
    interpreter::resolve(s);
    RunOptions options;
    options.steps = 3;
    options.in_double = true;
    return perform(s, options);
  };
  const PlanOutcome one = trained(1, 1, 1, 0.75);
  EXPECT_NE(difference(trained(1, 1, 1, 0.0), one, 1e-3, kDouble), "") << "nothing was dropped";
  EXPECT_EQ(difference(trained(2, 2, 1, 0.75), one, 1e-3, kDouble), "");
  EXPECT_EQ(difference(trained(4, 2, 2, 0.75), one, 1e-3, kDouble), "");
}

// The generated pattern can be learned, and is.
TEST(Training, TheLossFallsClearly) {
  for (const std::string name : {"gpt", "llama"}) {
    Scenario scenario = interpreter::plain_scenario(model_of(name));
    scenario.training.precision = hardware::Precision::fp32;
    scenario.training.micro_batch = 4;
    scenario.parallel.pp = 2;
    interpreter::resolve(scenario);
    RunOptions options;
    options.steps = 80;
    const PlanOutcome outcome = perform(scenario, options);
    EXPECT_LT(outcome.losses.back(), 0.6 * outcome.losses.front()) << name;
  }
}

}  // namespace
}  // namespace orrery::runtime
