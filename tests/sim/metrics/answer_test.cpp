// What is said about the answer itself: what was averaged, did not obey, was not checked; and what is refused
// because no simulation could answer it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/compile.h"
#include "sim/metrics/limits.h"
#include "sim/metrics/predict.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

using ::testing::AllOf;
using testing::Gpt;
using testing::gpt;
using ::testing::HasSubstr;
using testing::written;

// The message and hint of the warning that says `words`; empty if none does.
std::string warning(const Result& r, const std::string& words) {
  for (const Diagnostic& d : r.warnings)
    if (d.message.find(words) != std::string::npos) return d.message + " | " + d.hint;
  return {};
}

std::string refusal(const scenarios::Scenario& scenario, const PredictOptions& options = {}) {
  try {
    predict(scenario, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

Gpt pipeline(int stages, int microbatches) {
  Gpt g;
  g.gpus = 8;
  g.pp = stages;
  g.layers = stages;
  g.micro_batch = 1;
  g.global_batch = microbatches * 8 / stages;
  return g;
}

// Two stages of two chunks send backward messages in a group of their own; they are pipeline messages all the
// same.
TEST(Groups, BackwardMessagesOfTwoStagesAreThePipelines) {
  const Result r = predict(written(R"({ "model": "models/zoo/llama-3.1-8b.json",
  "cluster": "hardware/clusters/dgx-a100-80g.json", "framework": "megatron",
  "parallel": { "tp": 4, "pp": 2, "vpp": 2 },
  "training": { "global_batch": 8, "micro_batch": 1, "sequence_length": 1024 } })"))
                       .result;
  EXPECT_GT(r.communication_by_group[2], 0.0);
  for (std::size_t g = 3; g < schedule::kGroupKinds; ++g) EXPECT_EQ(r.communication_by_group[g], 0.0) << g;
  for (const UncertainPart& part : r.parts)
    EXPECT_THAT(part.name, ::testing::Not(HasSubstr("other transfers")));
}

// Messages on streams of their own slow kernels, and stages slide against each other: which plans never
// repeat depends on the fits, so several are tried.
TEST(Averaged, IsSaid) {
  int averaged = 0;
  for (const int stages : {2, 4})
    for (const int hidden : {1024, 4096}) {
      Gpt g = pipeline(stages, 4000);
      g.hidden = hidden;
      g.heads = hidden / 64;
      g.rest = R"(, "overlap": { "pipeline": true })";
      const scenarios::Scenario s = gpt(g);
      PredictOptions few;
      few.simulation.affordable_events = 20'000;
      const Result r = predict(s, few).result;
      EXPECT_LT(r.microbatches_simulated, s.training.microbatches);
      EXPECT_EQ(warning(r, "never repeat exactly").empty(), r.exact);
      if (r.exact) continue;
      ++averaged;
      EXPECT_THAT(warning(r, "never repeat exactly"),
                  HasSubstr(fmt::format("{} of {} were simulated", r.microbatches_simulated,
                                        s.training.microbatches)));
    }
  EXPECT_GT(averaged, 0);
}

TEST(Averaged, IsNotSaidOfAnExactAnswer) {
  const Result r = predict(gpt(pipeline(2, 8))).result;
  EXPECT_TRUE(r.exact);
  EXPECT_EQ(warning(r, "never repeat exactly"), "");
}

TEST(Forced, CollectivesThatDoNotObeyAreNamed) {
  Gpt g = pipeline(1, 2);
  g.framework = "deepspeed";
  g.zero = 2;
  g.rest = R"(, "network": { "algorithm": "tree" })";
  const std::string text = warning(predict(gpt(g)).result, "do not obey");
  EXPECT_THAT(text, AllOf(HasSubstr("reduce_scatter (ring)"), HasSubstr("all_gather (ring)")));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("all_reduce")));  // has a tree
  g.rest = R"(, "network": { "algorithm": "ring" })";
  EXPECT_EQ(warning(predict(gpt(g)).result, "do not obey"), "");
}

TEST(Unchecked, IsAWarningAndTheTimeIsThere) {
  PredictOptions small;
  small.verification.most_atoms = 10;
  const Result r = predict(gpt(pipeline(2, 4)), small).result;
  EXPECT_GT(r.step_time_s.value, 0.0);
  EXPECT_THAT(warning(r, "not checked in full"), HasSubstr("to check for races"));
  small.verification.most_ops = 10;
  EXPECT_THAT(warning(predict(gpt(pipeline(2, 4)), small).result, "not checked in full"),
              HasSubstr("too many to check"));
  EXPECT_EQ(warning(predict(gpt(pipeline(2, 4))).result, "not checked in full"), "");
}

TEST(Endless, LinksThatWouldTakeWeeksAreRefused) {
  Gpt g = pipeline(1, 2);
  g.gpus = 16;
  g.global_batch = 32;
  scenarios::Scenario s = gpt(g);
  for (hardware::Nic& nic : s.cluster.node.nics) nic.line = Bandwidth(1.0);
  EXPECT_THAT(refusal(s), AllOf(HasSubstr("test.json"), HasSubstr("days"), HasSubstr("bandwidth")));
  for (hardware::Nic& nic : s.cluster.node.nics) nic.line = Bandwidth(1e-3);  // one message is over the clock
  EXPECT_THAT(refusal(s), AllOf(HasSubstr("test.json"), HasSubstr("takes too long"), HasSubstr("bandwidth")));
  for (hardware::Nic& nic : s.cluster.node.nics) nic.line = Bandwidth(1e6);
  EXPECT_EQ(refusal(s), "");
}

TEST(Endless, ASlowGpuCounts) {
  scenarios::Scenario s = gpt(pipeline(1, 2));
  s.cluster.slow_gpus = {{3, 1e-9}};
  EXPECT_THAT(refusal(s), HasSubstr("s of kernels"));
}

TEST(TooLarge, OnlyWhereEveryMicrobatchIsAskedFor) {
  Gpt g = pipeline(2, 900'000);
  g.layers = 8;
  const scenarios::Scenario s = gpt(g);
  PredictOptions full;
  full.simulation.extrapolate = false;
  EXPECT_THAT(refusal(s, full),
              AllOf(HasSubstr("test.json"), HasSubstr("simulated in full"), HasSubstr("global_batch")));
  PredictOptions traced;
  traced.simulation.trace = true;
  EXPECT_THAT(refusal(s, traced), HasSubstr("traced"));
  EXPECT_EQ(refusal(s), "");
}

// A trace of all ranks keeps every rank's ops; one of the ranks that differ, or none, only the programs'.
TEST(TooLarge, ATraceOfAllRanksCountsThemAll) {
  Gpt g = pipeline(1, 100);
  g.gpus = 128;
  g.global_batch = 128 * 20'000;
  const scenarios::Scenario s = gpt(g);
  const schedule::Schedule schedule = schedule::compile(s);
  SimulationOptions options{.fold = false, .extrapolate = false};
  EXPECT_NO_THROW(refuse_too_large(s, schedule, options));
  options.trace = true;
  EXPECT_THROW(refuse_too_large(s, schedule, options), InputError);
  options.fold = true;
  EXPECT_NO_THROW(refuse_too_large(s, schedule, options));
}

// Transfers beside kernels take SMs from them; alone they slow nothing.
TEST(ComputeSlowed, ByTransfersThatOverlap) {
  Gpt g;
  g.gpus = 8;
  g.global_batch = 16;
  g.rest = R"(, "overlap": { "gradient_reduce": true })";
  const Result hidden = predict(gpt(g)).result;
  EXPECT_GT(hidden.compute_slowed, 0.0);
  EXPECT_LT(hidden.compute_slowed, hidden.communication_total);
  g.rest = R"(, "overlap": { "gradient_reduce": false })";
  EXPECT_EQ(predict(gpt(g)).result.compute_slowed, 0.0);
}

// The optimizer on the host is part of the host's share, and of its name.
TEST(HostPart, NamesTheCpuOptimizer) {
  const auto names = [](const Gpt& g) {
    std::string all;
    for (const UncertainPart& part : predict(gpt(g)).result.parts) all += part.name + "; ";
    return all;
  };
  Gpt g;
  g.gpus = 8;
  g.zero = 2;
  g.framework = "deepspeed";
  g.global_batch = 16;
  EXPECT_THAT(names(g), ::testing::Not(HasSubstr("CPU Adam")));
  g.rest = R"(, "offload": { "optimizer": "cpu" })";
  EXPECT_THAT(names(g), HasSubstr("the host: issuing and CPU Adam"));
}

}  // namespace
}  // namespace orrery::sim
