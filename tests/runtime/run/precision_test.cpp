// Training in 16 bits: bf16 and fp16 learn as fp32 does, to their precision, and a loss scale that overflows skips steps.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/tiny_models.h"
#include "tests/runtime/run/plan_outcome.h"

namespace orrery::runtime {
namespace {

using hardware::Precision;

PlanOutcome train(Precision precision, std::int64_t tp, std::int64_t steps,
                  const models::Architecture& model = interpreter::tiny_llama()) {
  scenarios::Scenario s = interpreter::plain_scenario(model);
  s.training.precision = precision;
  s.training.learning_rate = 1e-2;
  s.training.micro_batch = 4;
  s.parallel.tp = tp;
  s.parallel.pp = 2;
  if (precision == Precision::fp32) s.recipe.weight_bytes = 4;
  interpreter::resolve(s);
  RunOptions options;
  options.steps = steps;
  return perform(s, options);
}

TEST(Precisions, LearnThePatternAlike) {
  constexpr std::int64_t kSteps = 40;
  const PlanOutcome fp32 = train(Precision::fp32, 1, kSteps);
  EXPECT_LT(fp32.losses.back(), 0.8 * fp32.losses.front());
  for (const Precision precision : {Precision::bf16, Precision::fp16})
    for (const std::int64_t tp : {1, 2}) {
      const PlanOutcome narrow = train(precision, tp, kSteps);
      EXPECT_NEAR(narrow.losses.front(), fp32.losses.front(), 0.02);
      EXPECT_NEAR(narrow.losses.back(), fp32.losses.back(), 0.15);
    }
}

// Nothing is read that was not written: losses are the same bits each time, with biases, tied tables and all.
TEST(Precisions, AreRepeatable) {
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    const PlanOutcome once = train(precision, 1, 3, interpreter::tiny_gpt());
    EXPECT_NEAR(once.losses.front(), train(Precision::fp32, 1, 1, interpreter::tiny_gpt()).losses.front(), 0.02);
    for (int again = 0; again < 5; ++again) EXPECT_EQ(train(precision, 1, 3, interpreter::tiny_gpt()).losses, once.losses);
  }
}

// The first loss scale, 2^16, is too large for no tiny model; its gradients stay finite and every step updates.
TEST(Precisions, LossScaleIsInvisibleInTheLoss) {
  const PlanOutcome fp16 = train(Precision::fp16, 1, 3), fp32 = train(Precision::fp32, 1, 3);
  for (std::size_t i = 0; i < fp32.losses.size(); ++i) EXPECT_NEAR(fp16.losses[i], fp32.losses[i], 0.02);
}

}  // namespace
}  // namespace orrery::runtime
