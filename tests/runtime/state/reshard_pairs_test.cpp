// All pairs of plans of three models: a checkpoint of the first loads under the second. Small enough to be exhaustive.
#include <gtest/gtest.h>

#include "tests/runtime/state/reshard_check.h"

namespace orrery::runtime {
namespace {

class ReshardPairs : public testing::TestWithParam<std::size_t> {};

TEST_P(ReshardPairs, FromThisPlanToAll) {
  ASSERT_LT(GetParam(), most_state_plans());
  for (const models::Architecture& a : state_models()) expect_reshards(a, GetParam(), 1);
}

INSTANTIATE_TEST_SUITE_P(FromPlan, ReshardPairs, testing::Range<std::size_t>(0, most_state_plans()));

}  // namespace
}  // namespace orrery::runtime
