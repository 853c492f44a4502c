// Random plans (random_plan.h), each against the reference model.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "schedule/compile.h"
#include "schedule/verify.h"
#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/random_plan.h"

namespace orrery::interpreter {
namespace {

void expect_reference(std::uint64_t number) {
  const scenarios::Scenario scenario = random_plan(number);
  SCOPED_TRACE(fmt::format("plan {}: {}", number, describe(scenario)));
  constexpr std::int64_t kSteps = 2;
  for (const schedule::Finding& finding : schedule::verify(schedule::compile(scenario)))
    ADD_FAILURE() << finding.message;
  const Outcome reference = reference_outcome(scenario, kSteps);
  for (const Order order : {Order::rank_first, Order::rank_last, Order::random}) {
    try {
      const Outcome outcome = run_plan(scenario, {.order = order, .seed = number, .steps = kSteps});
      EXPECT_EQ(difference(outcome, reference), "") << "order " << static_cast<int>(order);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "order " << static_cast<int>(order) << ": " << error.what();
    }
  }
}

class PlanSpace : public testing::TestWithParam<std::uint64_t> {};

TEST_P(PlanSpace, AgreesWithTheReference) {
  constexpr std::uint64_t kEach = 20;
  for (std::uint64_t i = 0; i < kEach; ++i) expect_reference(GetParam() * kEach + i);
}
INSTANTIATE_TEST_SUITE_P(Drawn, PlanSpace, testing::Range<std::uint64_t>(0, 10));

}  // namespace
}  // namespace orrery::interpreter
