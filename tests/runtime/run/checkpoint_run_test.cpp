// A run that is saved and resumed goes on as if nothing had happened: to the bit under its own plan, to rounding under another.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "base/diagnostics.h"
#include "runtime/state/checkpoint_directory.h"
#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/tiny_models.h"
#include "tests/runtime/run/plan_outcome.h"

namespace orrery::runtime {
namespace {

using scenarios::Scenario;

Scenario scenario_of(const std::function<void(Scenario&)>& set) {
  Scenario s = interpreter::plain_scenario(interpreter::tiny_gpt());
  s.model.layers = 4;
  s.model.dropout = 0.1;
  s.training.precision = hardware::Precision::fp32;
  s.recipe.weight_bytes = s.recipe.gradient_bytes = 4;
  s.training.learning_rate = 1e-3;
  s.training.micro_batch = 1;
  set(s);
  interpreter::resolve(s);
  return s;
}

class Checkpoints : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  const std::string directory_ = testing::TempDir() + "orrery_checkpoints_" + std::to_string(::getpid());

  // Ten steps in two runs: `first` saves after its six (and after two and four), `second` goes on from there.
  PlanOutcome in_two_parts(const Scenario& first, const Scenario& second) {
    RunOptions options;
    options.steps = 6;
    options.save_directory = directory_;
    options.save_every = 2;
    perform(first, options);
    options = {};
    options.steps = 4;
    options.resume = directory_;
    return perform(second, options);
  }
  static PlanOutcome in_one(const Scenario& s) {
    RunOptions options;
    options.steps = 10;
    return perform(s, options);
  }
};

void plain(Scenario&) {}
void tensor_and_data(Scenario& s) {
  s.parallel.tp = s.parallel.dp = 2;
  s.parallel.zero = 1;
}
void pipeline(Scenario& s) {
  s.parallel.pp = 2;
  s.parallel.vpp = 2;
}
void zero3(Scenario& s) {
  s.parallel.dp = 4;
  s.parallel.zero = 3;
}

TEST_F(Checkpoints, ResumeToTheBitUnderTheSamePlan) {
  for (const auto& set : {plain, tensor_and_data, pipeline, zero3}) {
    SetUp();
    const Scenario s = scenario_of(set);
    const PlanOutcome whole = in_one(s), parts = in_two_parts(s, s);
    EXPECT_EQ(parts.losses, std::vector<double>(whole.losses.begin() + 6, whole.losses.end()));
    for (const auto& [name, values] : whole.weights) EXPECT_EQ(parts.weights.at(name), values) << name;
  }
}

TEST_F(Checkpoints, ResumeToRoundingUnderAnotherPlan) {
  const PlanOutcome whole = in_one(scenario_of(plain));
  for (const auto& first : {tensor_and_data, pipeline, zero3})
    for (const auto& second : {plain, tensor_and_data, pipeline, zero3}) {
      SetUp();
      const PlanOutcome parts = in_two_parts(scenario_of(first), scenario_of(second));
      for (std::size_t i = 0; i < parts.losses.size(); ++i)
        EXPECT_NEAR(parts.losses[i], whole.losses[i + 6], 1e-4 * whole.losses[i + 6]);
    }
}

TEST_F(Checkpoints, KeepsTheNewest) {
  RunOptions options;
  options.steps = 9;
  options.save_directory = directory_;
  options.save_every = 2;
  options.keep = 2;
  perform(scenario_of(tensor_and_data), options);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"step-00000008", "step-00000009"}));
}

// The disk of one rank fails at the second checkpoint: that one is never committed, and the first stays.
TEST_F(Checkpoints, AreNotCommittedWhereARankFailedToSave) {
  for (const char* const broken : {"rank-00000.bin", "rank-00001.bin", "rank-00003.bin"}) {
    SetUp();
    std::filesystem::create_directories(partial_path(directory_, 4, "test") + "/" + broken);  // where a file should go
    RunOptions options;
    options.steps = 8;
    options.save_directory = directory_;
    options.save_every = 2;
    options.keep = 1;
    try {
      perform(scenario_of(tensor_and_data), options);
      FAIL() << "nobody saw it";
    } catch (const WorldError& error) {
      EXPECT_NE(std::string(error.what()).find(broken), std::string::npos) << error.what();
    }
    EXPECT_EQ(complete_steps(directory_), std::vector<std::int64_t>{2}) << broken;
  }
}

}  // namespace
}  // namespace orrery::runtime
