// Each number means what docs/reference/result.md says.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "schedule/compile.h"
#include "sim/metrics/predict.h"
#include "sim/metrics/step_flops.h"
#include "sim/metrics/step_time.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

using testing::Gpt;
using testing::gpt;
using testing::written;

double sum(const std::array<double, kShares>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0);
}

std::vector<scenarios::Scenario> plans() {
  Gpt one, tensor, pipe, zero3;
  tensor.gpus = 8;
  tensor.tp = 4;
  tensor.sp = true;
  tensor.global_batch = 16;
  pipe.gpus = 8;
  pipe.pp = 4;
  pipe.global_batch = 32;
  pipe.recompute = "full";
  zero3.gpus = 16;
  zero3.zero = 3;
  zero3.framework = "deepspeed";
  zero3.global_batch = 64;
  std::vector<scenarios::Scenario> all;
  for (const Gpt& g : {one, tensor, pipe, zero3}) all.push_back(gpt(g));
  return all;
}

TEST(Definitions, WaterfallsSumToTheStep) {
  for (const scenarios::Scenario& s : plans()) {
    const Result r = predict(s).result;
    EXPECT_NEAR(sum(r.waterfall_s), r.step_time_s.value, 1e-9 * r.step_time_s.value);
    for (const StageResult& stage : r.stages)
      EXPECT_NEAR(sum(stage.waterfall_s), r.step_time_s.value, 1e-9 * r.step_time_s.value);
  }
}

TEST(Definitions, ExposedCommunicationIsPartOfTheTotal) {
  for (const scenarios::Scenario& s : plans()) {
    const Result r = predict(s).result;
    EXPECT_LE(r.communication_exposed, r.communication_total + 1e-12);
    EXPECT_LE(r.communication_total,
              std::accumulate(r.communication_by_group.begin(), r.communication_by_group.end(), 1e-12));
    EXPECT_LE(r.communication_total, 1.0);
    for (std::size_t g = 0; g < 4; ++g) EXPECT_LE(r.exposed_by_group[g], r.communication_by_group[g] + 1e-12);
    EXPECT_EQ(s.parallel.world() > 1, r.communication_total > 0.0);
  }
}

TEST(Definitions, RatesFollowFromTheStep) {
  const scenarios::Scenario s = plans().back();
  const Result r = predict(s).result;
  EXPECT_DOUBLE_EQ(r.samples_per_s * r.step_time_s.value, 64.0);
  EXPECT_DOUBLE_EQ(r.tokens_per_s, r.samples_per_s * 1024.0);
  EXPECT_DOUBLE_EQ(r.tokens_per_s_per_gpu * 16.0, r.tokens_per_s);
  EXPECT_DOUBLE_EQ(r.model_tflops_per_gpu * 1e12 * 16.0 * r.step_time_s.value, r.model_flops);
  EXPECT_DOUBLE_EQ(r.mfu, r.model_tflops_per_gpu / 312.0);
}

// Peaks are dense: 400 TFLOP/s on an H100 are 40.4 % of 989, not 20.2 % of 1979.
TEST(Definitions, FourHundredTeraflopsOnH100Are40Percent) {
  const scenarios::Scenario s =
      written(R"({ "model": "models/zoo/llama-2-7b.json", "cluster": "hardware/clusters/dgx-h100.json",
  "training": { "global_batch": 8, "micro_batch": 1, "sequence_length": 4096 } })");
  Result r;
  r.step_time_s.value = 2.0;
  r.model_flops = 400e12 * 8 * 2.0;
  r.hardware_flops = r.model_flops;
  fill_rates(s, r);
  EXPECT_NEAR(r.model_tflops_per_gpu, 400.0, 1e-9);
  EXPECT_NEAR(r.mfu, 0.404, 0.0005);
}

TEST(Definitions, StepsAndHoursToTokens) {
  scenarios::Scenario s = gpt({});
  s.training.tokens = 2048 * 100 + 1;
  Result r;
  r.step_time_s.value = 36.0;
  fill_rates(s, r);
  EXPECT_EQ(r.steps_to_tokens, 101.0);
  EXPECT_DOUBLE_EQ(r.hours_to_tokens, 1.01);
  EXPECT_DOUBLE_EQ(r.gpu_hours_to_tokens, 1.01);
}

// Model FLOPs counted op by op are three forwards of the formula, whatever the plan.
void expect_model_flops(const scenarios::Scenario& s) {
  const schedule::Schedule schedule = schedule::compile(s);
  for (const bool causal : {false, true}) {
    const double formula = 3.0 * static_cast<double>(s.training.global_batch) *
                           models::forward_flops(s.model, s.training.sequence_length, s.vocab_rows(), causal);
    EXPECT_NEAR(step_flops(schedule, causal).model / formula, 1.0, 1e-12)
        << s.name << (causal ? ", causal" : ", full");
  }
}

TEST(ModelFlops, EqualThreeForwardsForEveryPlan) {
  for (const scenarios::Scenario& s : plans()) expect_model_flops(s);
}

TEST(ModelFlops, EqualThreeForwardsForEveryKindOfModel) {
  for (const char* model :
       {"llama-3.1-8b", "falcon-7b", "gpt-j-6b", "gemma-2-2b", "qwen3-1.7b", "bloom-560m"})
    for (const char* recompute : {"none", "full"})
      expect_model_flops(written(fmt::format(R"({{ "name": "{}", "model": "models/zoo/{}.json",
  "cluster": "hardware/clusters/dgx-a100-80g.json",
  "training": {{ "global_batch": 8, "micro_batch": 1, "sequence_length": 2048, "recompute": "{}" }} }})",
                                             model, model, recompute)));
}

// Full recomputation runs every layer's forward again: at most 4 forwards for 3.
TEST(HardwareFlops, FullRecomputationCostsUpToFourThirds) {
  Gpt g;
  g.layers = 24;
  const auto ratio = [&](const char* recompute) {
    g.recompute = recompute;
    const StepFlops flops = step_flops(schedule::compile(gpt(g)), false);
    return flops.hardware / flops.model;
  };
  EXPECT_EQ(ratio("none"), 1.0);
  EXPECT_LT(ratio("full"), 4.0 / 3.0);
  EXPECT_GT(ratio("full"), 1.30);
  EXPECT_GT(ratio("selective"), 1.0);
  EXPECT_LT(ratio("selective"), ratio("full"));
}

TEST(HardwareFlops, FullRecomputationTakesUpToAThirdMoreTime) {
  Gpt g;
  g.layers = 24;
  const double none = predict(gpt(g)).result.step_time_s.value;
  g.recompute = "full";
  const double full = predict(gpt(g)).result.step_time_s.value;
  EXPECT_GT(full / none, 1.15);
  EXPECT_LT(full / none, 4.0 / 3.0);
}

// The answer is the same for a folded run and one of all ranks.
TEST(Definitions, FoldedEqualsUnfolded) {
  Gpt g;
  g.gpus = 8;
  g.tp = 2;
  g.pp = 2;
  g.global_batch = 16;
  PredictOptions all;
  all.simulation.fold = false;
  const Result folded = predict(gpt(g)).result, unfolded = predict(gpt(g), all).result;
  EXPECT_EQ(folded.step_time_s.value, unfolded.step_time_s.value);
  for (std::size_t s = 0; s < kShares; ++s)
    EXPECT_NEAR(folded.waterfall_s[s], unfolded.waterfall_s[s], 1e-9 * folded.step_time_s.value);
  EXPECT_NEAR(folded.communication_total, unfolded.communication_total, 1e-9);
}

TEST(Definitions, SameScenarioSameResult) {
  Gpt g;
  g.gpus = 8;
  g.tp = 2;
  g.pp = 2;
  g.global_batch = 16;
  const Result a = predict(gpt(g)).result, b = predict(gpt(g)).result;
  EXPECT_EQ(a.fingerprint, b.fingerprint);
  EXPECT_EQ(a.step_time_s.low, b.step_time_s.low);
  EXPECT_EQ(a.waterfall_s, b.waterfall_s);
}

}  // namespace
}  // namespace orrery::sim
