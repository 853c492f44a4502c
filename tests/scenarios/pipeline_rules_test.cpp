// Which framework has which pipeline schedule, and what each schedule asks of a plan besides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

using ::testing::HasSubstr;
using testing::Parts;
using testing::read;
using testing::Read;

std::string training(int global, int micro) {
  return "\"global_batch\": " + std::to_string(global) + ", \"micro_batch\": " + std::to_string(micro) +
         ", \"sequence_length\": 1024";
}

TEST(PipelineRule, SplitBackwardsNeedOverlappedMessages) {
  const Read r = read(Parts{.parallel = R"("pp": 4, "schedule": "zb-h1")", .rest = R"("overlap": { "pipeline": false })"});
  EXPECT_THAT(r.text(), HasSubstr("the zb-h1 schedule goes on computing while its messages are on their way"));
  EXPECT_THAT(r.text(), HasSubstr("set overlap.pipeline to true, or use the 1f1b schedule"));
  EXPECT_EQ(read(Parts{.parallel = R"("pp": 4, "schedule": "zb-h1")"}).errors(), 0U);
}

TEST(PipelineRule, SplitBackwardsKeepWholeGradients) {
  const Read r = read(Parts{.parallel = R"("pp": 4, "zero": 2, "schedule": "zb-2p")"});
  EXPECT_THAT(r.text(), HasSubstr("ZeRO-2 gives a layer's whole gradients away behind each backward, but the zb-2p schedule has "
                                  "weight gradients of several microbatches yet to come"));
  EXPECT_THAT(r.text(), HasSubstr("use zero 0 or 1, or the 1f1b schedule"));
  EXPECT_EQ(read(Parts{.parallel = R"("pp": 4, "zero": 1, "schedule": "zb-2p")"}).errors(), 0U);
}

TEST(PipelineRule, TwoChunksComeBySchedule) {
  const Read good = read(Parts{.parallel = R"("pp": 4, "schedule": "zb-v")"});
  EXPECT_EQ(good.errors(), 0U) << good.text();
  EXPECT_EQ(good.scenario.parallel.vpp, 2);
  const Read r = read(Parts{.parallel = R"("pp": 4, "vpp": 4, "schedule": "zb-v")"});
  EXPECT_THAT(r.text(), HasSubstr("schedule zb-v holds two chunks a rank, but vpp=4"));
  EXPECT_THAT(r.text(), HasSubstr("leave it out, or set vpp to 2"));
  EXPECT_THAT(read(Parts{.parallel = R"("schedule": "zb-v")"}).text(), HasSubstr("schedule zb-v needs a pipeline, but pp is 1"));
}

// 32 GPUs as pp 4 and dp 8: global_batch 64 is 8 microbatches of 1.
TEST(PipelineRule, DualPipeNeedsMicrobatchesForItsMiddle) {
  const Parts good{.parallel = R"("pp": 4, "schedule": "dualpipe")", .training = training(64, 1)};
  EXPECT_EQ(read(good).errors(), 0U) << read(good).text();
  const Read few = read(Parts{.parallel = R"("pp": 4, "schedule": "dualpipe")", .training = training(32, 1)});
  EXPECT_THAT(few.text(), HasSubstr("the dualpipe schedule needs 8 microbatches or more (2 pp), but there are 4"));
  EXPECT_THAT(few.text(), HasSubstr("use global_batch 64 or more"));
  const Read odd = read(Parts{.parallel = R"("pp": 4, "schedule": "dualpipe")", .training = training(72, 1)});
  EXPECT_THAT(odd.text(), HasSubstr("the dualpipe schedule sends half of the microbatches each way, but there are 9"));
  EXPECT_THAT(odd.text(), HasSubstr("use global_batch 64 or 80"));
}

TEST(PipelineRule, DualPipeHasTwoHalves) {
  const Read r = read(Parts{.layers = 30, .nodes = 3, .parallel = R"("pp": 3, "schedule": "dualpipe")", .training = training(128, 1)});
  EXPECT_THAT(r.text(), HasSubstr("so pp=3 cannot be odd"));
  EXPECT_THAT(r.text(), HasSubstr("use pp 2 or 4, or the dualpipe-v schedule"));
}

// 32 GPUs as pp 4 and dp 8: 11 microbatches are 2 rounds of 4 and a rest.
TEST(PipelineRule, PyTorchInterleavesInEqualRounds) {
  const auto with = [](int global_batch) {
    return read(Parts{.model = R"({ "layers": 32, "hidden": 1024, "heads": 16, "vocab": 32000, "max_positions": 2048,
                                    "tied_embeddings": false })",
                      .framework = "fsdp",
                      .parallel = R"("pp": 4, "vpp": 2)",
                      .training = training(global_batch, 1),
                      .rest = R"("overlap": { "pipeline": true })"});
  };
  EXPECT_THAT(with(88).text(), HasSubstr("PyTorch's interleaved schedule runs its microbatches in m / pp = 2 rounds of equal "
                                         "size, but there are 11"));
  EXPECT_THAT(with(88).text(), HasSubstr("use global_batch 80 or 96 (10 or 12 microbatches)"));
  EXPECT_EQ(with(80).errors(), 0U) << with(80).text();
}

TEST(PipelineRule, InFlightLimitsTheAutomaticSchedule) {
  const Read r = read(Parts{.parallel = R"("pp": 4, "in_flight": 6, "schedule": "zb-2p")"});
  EXPECT_THAT(r.text(), HasSubstr("in_flight limits the zb-auto schedule"));
  EXPECT_EQ(read(Parts{.parallel = R"("pp": 4, "in_flight": 6, "schedule": "zb-auto")"}).errors(), 0U);
}

TEST(PipelineRule, MegatronHasTwoSchedules) {
  const Read r = read(Parts{.framework = "megatron", .parallel = R"("pp": 4, "schedule": "zb-h1")"});
  EXPECT_THAT(r.text(), HasSubstr("megatron has no zb-h1 schedule"));
}

}  // namespace
}  // namespace orrery::scenarios
