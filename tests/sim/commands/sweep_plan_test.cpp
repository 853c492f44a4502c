// Every combination once, the first field slowest; the id tells sweeps apart, and nothing else does.
#include "sim/commands/sweep_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/diagnostics.h"

namespace orrery::sim {
namespace {

const std::string kScenario = "scenarios/quickstart.json", kOther = "scenarios/7b-8gpu.json";

TEST(SweepPlan, NumbersTheCrossProduct) {
  const SweepPlan plan =
      plan_sweep({kScenario, kOther}, {"training.micro_batch=1,2,4", "parallel.zero=0,1"}, false);
  ASSERT_EQ(plan.size(), 12U);
  std::set<std::string> seen;
  std::vector<std::string> listed;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const SweepPlan::Combination c = plan.at(i);
    listed.push_back(std::to_string(c.file) + " " + c.assignments[0].written + " " +
                     c.assignments[1].written);
    seen.insert(listed.back());
  }
  EXPECT_EQ(seen.size(), 12U);
  EXPECT_EQ(listed[0], "0 1 0");
  EXPECT_EQ(listed[1], "0 1 1");
  EXPECT_EQ(listed[2], "0 2 0");
  EXPECT_EQ(listed[11], "1 4 1");
}

TEST(SweepPlan, WithoutFieldsEveryFileIsOneCombination) {
  EXPECT_EQ(plan_sweep({kScenario, kOther}, {}, false).size(), 2U);
}

TEST(SweepPlan, TheIdFollowsWhatDecidesTheRows) {
  const auto id = [](const std::vector<std::string>& files, const std::vector<std::string>& sets,
                     bool full = false) { return plan_sweep(files, sets, full).id; };
  const std::string first = id({kScenario}, {"training.seed=1,2"});
  EXPECT_EQ(first, id({kScenario}, {"training.seed=[1, 2]"})) << "written otherwise, the same";
  EXPECT_NE(first, id({kOther}, {"training.seed=1,2"}));
  EXPECT_NE(first, id({kScenario}, {"training.seed=2,1"}));
  EXPECT_NE(first, id({kScenario}, {"training.micro_batch=1,2"}));
  EXPECT_NE(first, id({kScenario}, {"training.seed=1,2"}, true));
}

TEST(SweepPlan, RefusesWhatIsNoField) {
  EXPECT_THROW(plan_sweep({kScenario}, {"training.sede=1"}, false), InputError);
  EXPECT_THROW(plan_sweep({kScenario}, {"training.seed=1", "training.seed=2"}, false), InputError);
  std::string many = "1";
  for (int i = 2; i <= 1001; ++i) many += "," + std::to_string(i);
  EXPECT_THROW(plan_sweep({kScenario}, {"training.seed=" + many, "training.micro_batch=" + many}, false),
               InputError);
}

}  // namespace
}  // namespace orrery::sim
