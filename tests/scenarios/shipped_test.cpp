// Every scenario that ships is legal, and has the number of GPUs and replicas that its name promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/data_root.h"
#include "scenarios/scenario.h"

namespace orrery::scenarios {
namespace {

std::vector<std::string> shipped() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_root() + "/scenarios"))
    if (entry.path().extension() == ".json" && entry.path().parent_path().filename() != "bases")
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(Shipped, EveryScenarioIsLegal) {
  ASSERT_GE(shipped().size(), 20U);
  for (const std::string& path : shipped()) {
    try {
      const Scenario s = read_scenario(path);
      EXPECT_EQ(s.parallel.world(), s.cluster.gpus()) << path;
      EXPECT_FALSE(s.name.empty()) << path;
      if (s.measured) {
        EXPECT_FALSE(s.measured->source.empty()) << path;
      }
    } catch (const InputError& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(Shipped, WorldsOfTheCases) {
  struct Expected {
    std::int64_t world, dp, microbatches;
  };
  const std::map<std::string, Expected> cases = {
      {"7b-8gpu", {8, 8, 4}},
      {"3b-1gpu", {1, 1, 8}},
      {"13b-tp8-pp4", {128, 4, 32}},
      {"gpt3-175b-1024", {1024, 8, 192}},
      {"mt-nlg-530b-280", {2240, 8, 240}},
      {"mt-nlg-530b-350", {2800, 10, 192}},
      {"mt-nlg-530b-420", {3360, 12, 160}},
      {"llama31-405b-16384", {16384, 128, 16}},
      {"korthikanti/22b-full", {8, 1, 1}},
      {"korthikanti/175b-present", {64, 1, 64}},
      {"korthikanti/530b-present", {280, 1, 280}},
      {"korthikanti/530b-present-dp8", {2240, 8, 280}},
      {"korthikanti/1t-present", {512, 1, 512}},
  };
  for (const auto& [name, expected] : cases) {
    const Scenario s = read_scenario(data_root() + "/scenarios/" + name + ".json");
    EXPECT_EQ(s.parallel.world(), expected.world) << name;
    EXPECT_EQ(s.parallel.dp, expected.dp) << name;
    EXPECT_EQ(s.training.microbatches, expected.microbatches) << name;
  }
}

// The rows of one table share every setting but the plan: none is tuned by itself.
TEST(Shipped, KorthikantiRowsDifferInThePlanOnly) {
  const Scenario first = read_scenario(data_root() + "/scenarios/korthikanti/22b-full.json");
  for (const std::string& path : shipped()) {
    if (path.find("/korthikanti/") == std::string::npos) continue;
    const Scenario s = read_scenario(path);
    EXPECT_EQ(s.framework, Framework::megatron) << path;
    EXPECT_EQ(s.kernels.fused_attention, first.kernels.fused_attention) << path;
    EXPECT_EQ(s.kernels.fused_elementwise, first.kernels.fused_elementwise) << path;
    EXPECT_EQ(s.training.precision, first.training.precision) << path;
    EXPECT_EQ(s.training.sequence_length, 2048) << path;
    EXPECT_EQ(s.parallel.sequence_parallel, s.training.recompute == Recompute::selective) << path;
    EXPECT_EQ(s.recipe.name, first.recipe.name) << path;
    EXPECT_TRUE(s.warnings.empty()) << path;
  }
}

}  // namespace
}  // namespace orrery::scenarios
