// ZeRO++: plans with quantised traffic are near what one rank gives, as near as their codes allow.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/reference_model.h"
#include "tests/interpreter/tiny_models.h"

namespace orrery::interpreter {
namespace {

using scenarios::Scenario;

struct Bits {
  int weights = 0, gradients = 0;
};

Scenario quantised(const models::Architecture& a, Bits bits) {
  Scenario s = plain_scenario(a);
  s.parallel.dp = 4;
  s.parallel.zero = 3;
  s.training.micro_batch = 1;
  s.overlap.gradient_reduce = true;
  s.compression.weight_bits = bits.weights;
  s.compression.gradient_bits = bits.gradients;
  s.compression.block = 16;
  s.compression.node_ranks = 2;
  return s;
}

// The largest difference of a gradient from one rank's, as a share of the norm of all of them.
double gradient_error(Scenario s) {
  resolve(s);
  const Outcome plan = run_plan(s, {.order = Order::random, .seed = 3, .steps = 1});
  const Outcome one = reference_outcome(s, 1);
  EXPECT_NEAR(plan.losses.front(), one.losses.front(), 0.02 * one.losses.front());
  double off = 0.0, size = 0.0;
  for (const auto& [name, tensor] : one.gradients) {
    const double d = distance(plan.gradients.at(name), tensor);
    off += d * d;
    size += norm(tensor) * norm(tensor);
  }
  return std::sqrt(off / size);
}

TEST(Quantised, GradientsAreAsNearAsTheirCodes) {
  for (const models::Architecture& a : {tiny_gpt(), tiny_llama()}) {
    const double none = gradient_error(quantised(a, {})), int8 = gradient_error(quantised(a, {.gradients = 8})),
                 int4 = gradient_error(quantised(a, {.gradients = 4}));
    EXPECT_LT(none, 1e-9);
    EXPECT_GT(int8, 1e-5);
    EXPECT_LT(int8, 0.01) << "half of 1 / 127 of a block's largest, twice";
    EXPECT_GT(int4, 2.0 * int8);
    EXPECT_LT(int4, 0.2) << "half of 1 / 7";
  }
}

TEST(Quantised, WeightsInEightBitsGiveNearlyTheSameGradients) {
  for (const models::Architecture& a : {tiny_gpt(), tiny_llama()}) {
    const double error = gradient_error(quantised(a, {.weights = 8}));
    EXPECT_GT(error, 1e-6);
    EXPECT_LT(error, 0.05);
  }
}

// All of ZeRO++ with every order of streams: hpZ's parts come from dequantised weights, replicas of groups are summed.
TEST(Quantised, EveryOrderGivesTheSame) {
  Scenario s = quantised(tiny_llama(), {.weights = 8, .gradients = 4});
  s.parallel.dp = 8;
  s.sharding.group = 4;
  s.sharding.secondary = 2;
  s.model.layers = 3;
  s.training.clip_gradient_norm = 0.1;
  resolve(s);
  const Outcome first = run_plan(s, {.order = Order::rank_first, .steps = 2});
  for (const Order order : {Order::round_robin, Order::rank_last, Order::random}) {
    const Outcome other = run_plan(s, {.order = order, .seed = 9, .steps = 2});
    EXPECT_EQ(difference(other, first), "");
  }
}

}  // namespace
}  // namespace orrery::interpreter
