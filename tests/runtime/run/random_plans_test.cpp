// Random plans train as one rank does, in double. Tensors may differ by 1e-6: norms of the small vectors that an untrained
// model has (Gemma's, after each block and of each head) amplify rounding a hundredfold a layer; a wrong plan is off by more.
#include <gtest/gtest.h>

#include "tests/interpreter/random_plan.h"
#include "tests/runtime/run/one_rank.h"

namespace orrery::runtime {
namespace {

class RandomPlans : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomPlans, TrainAsOneRankDoes) {
  constexpr std::uint64_t kEach = 20;
  for (std::uint64_t i = 0; i < kEach; ++i) {
    const std::uint64_t number = GetParam() * kEach + i;
    scenarios::Scenario scenario = interpreter::random_plan(number);
    scenario.training.precision = hardware::Precision::fp32;
    scenario.training.learning_rate = 1e-3;
    scenario.training.epsilon = 1e-3;  // else Adam makes steps of any size out of the rounding of gradients near zero
    SCOPED_TRACE(testing::Message() << "plan " << number << ": " << interpreter::describe(scenario));
    EXPECT_EQ(difference_from_one_rank(scenario, {1e-9, 1e-6}, true, 4), "");
  }
}
INSTANTIATE_TEST_SUITE_P(Drawn, RandomPlans, testing::Range<std::uint64_t>(0, 10));

}  // namespace
}  // namespace orrery::runtime
