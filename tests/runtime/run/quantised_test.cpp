// ZeRO++ in the runtime: learns as without it, and the same each time.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/tiny_models.h"
#include "tests/runtime/run/plan_outcome.h"

namespace orrery::runtime {
namespace {

PlanOutcome train(int weight_bits, int gradient_bits, hardware::Precision precision, std::int64_t steps) {
  scenarios::Scenario s = interpreter::plain_scenario(interpreter::tiny_llama());
  s.training.precision = precision;
  if (precision == hardware::Precision::fp32) s.recipe.weight_bytes = 4;
  s.training.learning_rate = 1e-2;
  s.training.micro_batch = 1;
  s.parallel.dp = 4;
  s.parallel.zero = 3;
  s.overlap.gradient_reduce = true;
  s.compression.weight_bits = weight_bits;
  s.compression.gradient_bits = gradient_bits;
  s.compression.block = 16;
  s.compression.node_ranks = 2;
  interpreter::resolve(s);
  RunOptions options;
  options.steps = steps;
  return perform(s, options);
}

TEST(Quantised, LearnsAsWithoutCodes) {
  for (const auto precision : {hardware::Precision::fp32, hardware::Precision::bf16}) {
    const PlanOutcome plain = train(0, 0, precision, 30), coded = train(8, 4, precision, 30);
    EXPECT_LT(plain.losses.back(), 0.9 * plain.losses.front());
    EXPECT_NEAR(coded.losses.front(), plain.losses.front(), 0.05);
    EXPECT_NEAR(coded.losses.back(), plain.losses.back(), 0.2);
    EXPECT_EQ(train(8, 4, precision, 3).losses, train(8, 4, precision, 3).losses);
  }
}

TEST(Quantised, GradientsAreNear) {
  const PlanOutcome plain = train(0, 0, hardware::Precision::fp32, 1), coded = train(8, 8, hardware::Precision::fp32, 1);
  double off = 0.0, size = 0.0;
  for (const auto& [name, values] : plain.gradients) {
    const Distance d = distance(coded.gradients.at(name), values);
    off += d.off * d.off;
    size += d.size * d.size;
  }
  EXPECT_GT(std::sqrt(off / size), 1e-5);
  EXPECT_LT(std::sqrt(off / size), 0.03);
}

}  // namespace
}  // namespace orrery::runtime
