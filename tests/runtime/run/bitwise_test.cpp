// Plans that only move work, and do not regroup its sums, give the same bits: pipelines of any kind, recomputation, and
// ZeRO stages of one data-parallel size whose gradients are reduced equally often.
#include <gtest/gtest.h>

#include <functional>

#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/tiny_models.h"
#include "tests/runtime/run/plan_outcome.h"

namespace orrery::runtime {
namespace {

using scenarios::Scenario;

PlanOutcome outcome_of(const models::Architecture& model, const std::function<void(Scenario&)>& set) {
  Scenario s = interpreter::plain_scenario(model);
  s.model.layers = 4;
  s.training.precision = hardware::Precision::fp32;
  s.recipe.weight_bytes = s.recipe.gradient_bytes = 4;
  s.training.learning_rate = 1e-3;
  s.training.micro_batch = 2;
  set(s);
  interpreter::resolve(s);
  RunOptions options;
  options.steps = 5;
  return perform(s, options);
}

void expect_same_bits(const PlanOutcome& a, const PlanOutcome& b) {
  EXPECT_EQ(a.losses, b.losses);
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (const auto& [name, values] : b.weights) EXPECT_EQ(a.weights.at(name), values) << name;
}

class Bitwise : public testing::TestWithParam<std::string> {
 protected:
  // An embedding that two stages share is summed in another order than on one, so it is not tied here.
  models::Architecture model() const {
    models::Architecture a = GetParam() == "gpt" ? interpreter::tiny_gpt() : interpreter::tiny_llama();
    a.tied_embeddings = false;
    a.dropout = GetParam() == "gpt" ? 0.1 : 0.0;
    return a;
  }
};

TEST_P(Bitwise, Pipelines) {
  const PlanOutcome one = outcome_of(model(), [](Scenario&) {});
  const auto pipeline = [&](std::int64_t pp, std::int64_t vpp, bool gpipe, bool overlap) {
    return outcome_of(model(), [=](Scenario& s) {
      s.parallel.pp = pp;
      s.parallel.vpp = vpp;
      if (gpipe) s.parallel.schedule = scenarios::PipelineSchedule::gpipe;
      s.overlap.pipeline = overlap;
    });
  };
  expect_same_bits(pipeline(2, 1, false, false), one);
  expect_same_bits(pipeline(2, 1, false, true), one);
  expect_same_bits(pipeline(4, 1, true, false), one);
  expect_same_bits(pipeline(2, 2, false, false), one);
  expect_same_bits(pipeline(2, 2, false, true), one);
}

TEST_P(Bitwise, Recomputation) {
  const PlanOutcome kept = outcome_of(model(), [](Scenario&) {});
  for (const scenarios::Recompute kind : {scenarios::Recompute::selective, scenarios::Recompute::full})
    expect_same_bits(outcome_of(model(), [=](Scenario& s) { s.training.recompute = kind; }), kept);
  expect_same_bits(outcome_of(model(), [](Scenario& s) {
                     s.parallel.pp = 2;
                     s.training.recompute = scenarios::Recompute::full;
                     s.training.recompute_every = 2;
                   }),
                   kept);
}

TEST_P(Bitwise, ZeroStages) {
  for (const std::int64_t dp : {2, 4}) {
    const auto stage = [&](int zero) {
      return outcome_of(model(), [=](Scenario& s) {
        s.parallel.dp = dp;
        s.parallel.zero = zero;
        s.training.micro_batch = s.training.global_batch / dp;  // one microbatch: reduced once under every stage
      });
    };
    const PlanOutcome none = stage(0);
    for (const int zero : {1, 2, 3}) expect_same_bits(stage(zero), none);
  }
}

TEST_P(Bitwise, TwoRunsOfOnePlan) {
  const auto run = [&] {
    return outcome_of(model(), [](Scenario& s) {
      s.parallel.tp = 2;
      s.parallel.sequence_parallel = true;
      s.parallel.dp = 2;
      s.overlap.gradient_reduce = s.overlap.tensor_backward = true;
      s.training.clip_gradient_norm = 0.1;
    });
  };
  expect_same_bits(run(), run());
}

INSTANTIATE_TEST_SUITE_P(Models, Bitwise, testing::Values("gpt", "llama"), [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace orrery::runtime
