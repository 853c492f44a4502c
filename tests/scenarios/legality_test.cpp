// One test per rule: what is refused, at which field, with the true reason and the nearest legal values; and
// that the legal neighbour passes. The cases are those that users of the frameworks ran into.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Parts;
using testing::read;
using testing::Read;

constexpr const char* kOneGpuNodes = R"({ "base": "hardware/clusters/a100-80g-16x8.json", "nodes": 7,
    "node": { "gpus": 1, "pcie_switches": 1, "sockets": 1, "nics": { "count": 1, "line": "200 Gbit/s" } } })";

std::string training(int global, int micro, const std::string& more = "") {
  return "\"global_batch\": " + std::to_string(global) + ", \"micro_batch\": " + std::to_string(micro) +
         ", \"sequence_length\": 1024" + more;
}

// --- the optimizer's numbers
// ---------------------------------------------------------------------------------------------

TEST(OptimizerRule, DecaysAreBelowOneAndEpsilonAboveZero) {
  for (const char* decay : {"beta1", "beta2"})
    for (const char* value : {"1", "1.0", "0.99999999999"}) {
      const Read r = read(Parts{.training = training(64, 1, std::string(", \"") + decay + "\": " + value)});
      EXPECT_EQ(r.errors(), 1U) << r.text();
      EXPECT_THAT(r.text(), HasSubstr(std::string("\"") + decay + "\" in training is 1"));
      EXPECT_THAT(r.text(), HasSubstr("allowed: a number from 0 to 0.9999999"));
    }
  EXPECT_EQ(read(Parts{.training = training(64, 1, ", \"beta1\": 0, \"beta2\": 0.9999999")}).errors(), 0U);
  EXPECT_THAT(read(Parts{.training = training(64, 1, ", \"epsilon\": 0")}).text(), HasSubstr("out of range"));
}

// --- the batch equation
// ---------------------------------------------------------------------------------------------

TEST(BatchRule, SevenGpus) {
  const Read r = read(Parts{.cluster = kOneGpuNodes, .training = training(256, 2)});
  EXPECT_EQ(r.errors(), 1U) << r.text();
  EXPECT_THAT(r.text(), HasSubstr("global_batch=256 is not a multiple of micro_batch 2 x dp 7 = 14 "
                                  "(global_batch = micro_batch x accumulation x dp)"));
  EXPECT_THAT(r.text(), HasSubstr("use global_batch 252 or 266, or dp 4 or 8 (4 or 8 GPUs)"));
  EXPECT_EQ(read(Parts{.cluster = kOneGpuNodes, .training = training(252, 2)}).text(), "");
  EXPECT_EQ(read(Parts{.cluster = kOneGpuNodes, .training = training(266, 2)}).text(), "");
}

// 1472 GPUs, TP8, PP8: dp 23 does not divide a global batch of 32.
TEST(BatchRule, OddDataParallelSize) {
  const Read r = read(Parts{.nodes = 184, .parallel = R"("tp": 8, "pp": 8)", .training = training(32, 1)});
  EXPECT_EQ(r.errors(), 1U) << r.text();
  EXPECT_THAT(r.text(), HasSubstr("global_batch=32 is not a multiple of micro_batch 1 x dp 23 = 23"));
  EXPECT_THAT(r.text(), HasSubstr("use global_batch 23 or 46, or dp 16 or 32 (1024 or 2048 GPUs)"));
}

TEST(BatchRule, MicroBatchTooLargeForAReplica) {
  const Read r = read(Parts{.training = training(64, 3)});  // dp 32: two sequences a replica
  EXPECT_THAT(r.text(), HasSubstr("use global_batch 96, or micro_batch 2"));
}

TEST(BatchRule, StatedAccumulationMustAgree) {
  const Read r = read(Parts{.training = training(64, 1, ", \"accumulation\": 4")});
  EXPECT_THAT(r.text(), HasSubstr("global_batch=64, but micro_batch 1 x accumulation 4 x dp 32 = 128"));
  EXPECT_THAT(r.text(), HasSubstr("use global_batch 128, or accumulation 2, or dp 16 (16 GPUs)"));
  const Read twice = read(Parts{.training = training(64, 1, ", \"accumulation\": 2, \"microbatches\": 4")});
  EXPECT_THAT(twice.text(), HasSubstr("microbatches=4 contradicts accumulation=2"));
}

TEST(BatchRule, Undetermined) {
  const Read r = read(Parts{.training = R"("global_batch": 64, "sequence_length": 128)"});
  EXPECT_THAT(r.text(), HasSubstr("the batch is not determined"));
  EXPECT_THAT(r.text(), HasSubstr("micro_batch can be a divisor of 2"));
}

TEST(BatchRule, HugeTermsAreRefusedNotMultiplied) {
  const Read r =
      read(Parts{.training = R"("micro_batch": 1000000, "accumulation": 1000000, "sequence_length": 128)"});
  EXPECT_THAT(r.text(), HasSubstr("is more than 10^12 sequences"));
  const Read m = read(Parts{
      .nodes = 1, .training = R"("global_batch": 1000000000, "micro_batch": 1, "sequence_length": 128)"});
  EXPECT_THAT(m.text(), HasSubstr("125000000 microbatches a step are too many"));
}

// --- the world
// --------------------------------------------------------------------------------------------------------

TEST(WorldRule, TensorTimesPipelineDividesTheGpus) {
  const Read r = read(Parts{.nodes = 4, .parallel = R"("tp": 8, "pp": 3)"});
  EXPECT_THAT(r.text(), HasSubstr("tp=8 x pp=3 = 24 does not divide the cluster's 32 GPUs (4 x 8)"));
  EXPECT_THAT(r.text(), HasSubstr("pp 2 or 4"));
  EXPECT_THAT(r.text(), HasSubstr("a cluster of 3 or 6 nodes"));
}

TEST(WorldRule, StatedDataParallelSize) {
  const Read r = read(Parts{.nodes = 184, .parallel = R"("tp": 8, "pp": 8, "dp": 20)"});
  EXPECT_THAT(r.text(),
              HasSubstr("tp=8 x pp=8 x dp=20 is 1280 ranks, but the cluster has 1472 GPUs (184 x 8)"));
  EXPECT_THAT(r.text(), HasSubstr("use dp 23 or \"auto\", or a cluster of 160 nodes"));
  EXPECT_EQ(read(Parts{.nodes = 4, .parallel = R"("tp": 8, "pp": 4, "dp": 1)"}).text(), "");
}

// --- stages
// -----------------------------------------------------------------------------------------------------------

TEST(StageRule, NoLayerIsLost) {
  const Read r =
      read(Parts{.layers = 80, .nodes = 16, .parallel = R"("pp": 16, "layers_per_virtual_stage": 2)"});
  EXPECT_THAT(r.text(),
              HasSubstr("2 layers a virtual stage do not divide the 5 layers of a stage (80 layers / pp 16): "
                        "16 layers would be lost"));
  EXPECT_THAT(r.text(), HasSubstr("^ use 1 or 5\n"));
  const Read second =
      read(Parts{.layers = 40, .nodes = 8, .parallel = R"("pp": 8, "layers_per_virtual_stage": 2)"});
  EXPECT_THAT(second.text(), HasSubstr("^ use 1 or 5\n"));
  const Read one = read(Parts{.layers = 80,
                              .nodes = 16,
                              .parallel = R"("pp": 16, "layers_per_virtual_stage": 1)",
                              .training = training(128, 1)});
  ASSERT_EQ(one.text(), "");
  EXPECT_EQ(one.scenario.parallel.vpp, 5);
  EXPECT_EQ(one.scenario.parallel.schedule, PipelineSchedule::interleaved);
  const Read five = read(Parts{.layers = 80,
                               .nodes = 16,
                               .parallel = R"("pp": 16, "layers_per_virtual_stage": 5)",
                               .training = training(128, 1)});
  ASSERT_EQ(five.text(), "");
  EXPECT_EQ(five.scenario.parallel.vpp, 1);
  const Read both = read(
      Parts{.layers = 80, .nodes = 16, .parallel = R"("pp": 16, "vpp": 2, "layers_per_virtual_stage": 1)"});
  EXPECT_THAT(both.text(), HasSubstr("vpp=2, but 80 layers / pp 16 / 1 layers a virtual stage = 5"));
}

// BLOOM-176B: 70 layers on 12 stages, because embedding and head count as partition items.
TEST(StageRule, EmbeddingAndHeadMayCount) {
  const Parts bloom{
      .layers = 70, .nodes = 48, .parallel = R"("tp": 4, "pp": 12)", .training = training(2048, 2)};
  const Read refused = read(bloom);
  EXPECT_THAT(refused.text(), HasSubstr("70 layers do not divide over pp=12 stages: 70 / 12 leaves 10"));
  EXPECT_THAT(refused.text(), HasSubstr("use pp 2"));
  EXPECT_THAT(refused.text(), HasSubstr("\"layers_per_stage\": \"even_with_embedding\""));
  Parts legal = bloom;
  legal.parallel += R"(, "layers_per_stage": "even_with_embedding")";
  const Read r = read(legal);
  ASSERT_EQ(r.text(), "");
  EXPECT_EQ(r.scenario.parallel.layers_of_stage,
            (std::vector<std::int64_t>{5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5}));
}

// Llama-3.1 405B: 126 layers on 16 x 8 virtual stages; the first holds the embedding alone, the last the
// head.
TEST(StageRule, EmbeddingAndHeadMayStandAlone) {
  const Read r =
      read(Parts{.layers = 126,
                 .nodes = 16,
                 .parallel = R"("tp": 8, "pp": 16, "vpp": 8, "layers_per_stage": "even_with_embedding")"});
  ASSERT_EQ(r.text(), "");
  const std::vector<std::int64_t>& split = r.scenario.parallel.layers_of_stage;
  ASSERT_EQ(split.size(), 128U);
  EXPECT_EQ(split.front(), 0);
  EXPECT_EQ(split[1], 1);
  EXPECT_EQ(split.back(), 0);
}

TEST(StageRule, VirtualStages) {
  const Read r = read(Parts{.layers = 32, .parallel = R"("pp": 4, "vpp": 3)"});
  EXPECT_THAT(r.text(),
              HasSubstr("32 layers do not divide over pp=4 x vpp=3 virtual stages: 32 / 12 leaves 8"));
  EXPECT_THAT(r.text(), HasSubstr("vpp 2 or 4"));
}

TEST(StageRule, ListedStages) {
  const auto listed = [](const char* list) {
    return read(Parts{.layers = 10, .parallel = std::string(R"("pp": 4, "layers_per_stage": )") + list});
  };
  EXPECT_EQ(listed("[1, 3, 4, 2]").text(), "");
  EXPECT_THAT(listed("[3, 3, 4]").text(),
              HasSubstr("layers_per_stage has 3 entries, but there are 4 virtual stages (pp=4 x vpp=1)"));
  EXPECT_THAT(listed("[3, 3, 4, 2]").text(), HasSubstr("adds up to 12, but the model has 10 layers"));
  EXPECT_THAT(listed("[3, 3, 4, 2]").text(), HasSubstr("remove 2"));
  EXPECT_EQ(listed("[0, 5, 5, 0]").text(), "");  // embedding and head alone
  EXPECT_THAT(listed("[5, 0, 4, 1]").text(), HasSubstr("at least 1"));
  EXPECT_THAT(listed("[5, \"a\", 4, 1]").text(), HasSubstr("a whole number of layers"));
  EXPECT_THAT(listed("\"odd\"").text(), HasSubstr("allowed: even, even_with_embedding"));
  EXPECT_THAT(listed("7").text(), HasSubstr("a list of one number per virtual stage"));
}

TEST(StageRule, MoreStagesThanLayers) {
  const Read r = read(Parts{.layers = 12, .parallel = R"("pp": 16)"});
  EXPECT_THAT(r.text(), HasSubstr("pp=16 is more stages than the model's 12 layers"));
  EXPECT_THAT(r.text(), HasSubstr("use pp 4"));  // 12 would not divide the 32 GPUs
}

TEST(ChunkRule, InterleavingNeedsChunksAndAPipeline) {
  EXPECT_THAT(read(Parts{.parallel = R"("vpp": 2)"}).text(),
              HasSubstr("vpp=2 needs a pipeline, but pp is 1"));
  EXPECT_THAT(read(Parts{.parallel = R"("pp": 4, "vpp": 2, "schedule": "1f1b")"}).text(),
              HasSubstr("schedule 1f1b holds one chunk a rank, but vpp=2"));
  const Read r = read(Parts{.parallel = R"("pp": 4, "schedule": "interleaved")"});
  EXPECT_THAT(r.text(), HasSubstr("the interleaved schedule needs more than one chunk a rank, but vpp is 1"));
  EXPECT_THAT(r.text(), HasSubstr("set vpp to 2, 4 or 8, or use \"1f1b\""));
  const Read good = read(Parts{.parallel = R"("pp": 4, "vpp": 2)"});
  EXPECT_EQ(good.scenario.parallel.schedule, PipelineSchedule::interleaved);
  EXPECT_EQ(good.errors(), 0U) << good.text();
}

// --- shapes
// -----------------------------------------------------------------------------------------------------------

TEST(ShapeRule, HeadsAndKeyValueHeads) {
  const Read heads =
      read(Parts{.heads = 32, .kv_heads = 8, .ffn_hidden = 16384, .nodes = 6, .parallel = R"("tp": 3)"});
  EXPECT_THAT(heads.text(), HasSubstr("tp=3 does not divide heads=32"));
  EXPECT_THAT(heads.text(),
              HasSubstr("^ use 1, 2, 4 or 8\n"));  // what heads, kv_heads and ffn_hidden all allow
  const Read kv = read(Parts{.heads = 32, .kv_heads = 8, .parallel = R"("tp": 16)"});
  EXPECT_THAT(kv.text(), HasSubstr("tp=16 does not divide kv_heads=8"));
  EXPECT_THAT(kv.text(), Not(HasSubstr("does not divide heads")));
}

TEST(ShapeRule, MlpSize) {
  const Read r = read(Parts{.ffn_hidden = 11004, .parallel = R"("tp": 8)"});
  EXPECT_THAT(r.text(), HasSubstr("tp=8 does not divide ffn_hidden=11004"));
  EXPECT_THAT(r.text(), HasSubstr("^ use 1, 2 or 4\n"));
}

TEST(ShapeRule, SequenceParallelism) {
  EXPECT_THAT(read(Parts{.parallel = R"("sp": true)"}).text(), HasSubstr("but tp is 1"));
  const Read r = read(Parts{.parallel = R"("tp": 8, "sp": true)",
                            .training = R"("global_batch": 64, "micro_batch": 1, "sequence_length": 1022)"});
  EXPECT_THAT(r.text(), HasSubstr("sequence_length=1022 does not divide over tp=8 (sp is on)"));
  EXPECT_THAT(r.text(), HasSubstr("use 1016 or 1024"));
  EXPECT_EQ(read(Parts{.parallel = R"("tp": 8, "sp": true)"}).text(), "");
}

TEST(ShapeRule, LearnedPositions) {
  const Read r = read(Parts{.training = R"("global_batch": 64, "micro_batch": 1, "sequence_length": 2049)"});
  EXPECT_THAT(r.text(), HasSubstr("sequence_length=2049 is beyond the 2048 learned positions"));
  EXPECT_EQ(
      read(Parts{.training = R"("global_batch": 64, "micro_batch": 1, "sequence_length": 2048)"}).text(), "");
  EXPECT_EQ(read(Parts{.model = R"("models/zoo/llama-2-7b.json")",
                       .training = R"("global_batch": 64, "micro_batch": 1, "sequence_length": 8192)"})
                .text(),
            "");
}

// --- frameworks and hardware
// ------------------------------------------------------------------------------------------

TEST(FrameworkRule, DeepSpeedPipelineExcludesGradientShards) {
  for (const char* zero : {"2", "3"}) {
    const std::string parallel = std::string(R"("pp": 4, "zero": )") + zero;
    EXPECT_THAT(
        read(Parts{.framework = "deepspeed", .parallel = parallel}).text(),
        HasSubstr(std::string("DeepSpeed refuses ZeRO-") + zero + " with pipeline parallelism (pp=4)"));
    const Read elsewhere =
        read(Parts{.model = R"("models/zoo/llama-2-7b.json")", .framework = "orrery", .parallel = parallel});
    EXPECT_EQ(elsewhere.errors(), 0U);
    EXPECT_THAT(elsewhere.text(), HasSubstr("times a step, once a microbatch"));
  }
  EXPECT_EQ(read(Parts{.framework = "deepspeed", .parallel = R"("pp": 2, "zero": 1)"}).errors(), 0U);
}

TEST(FrameworkRule, DdpIsDataParallelOnly) {
  const Read r = read(Parts{.framework = "ddp", .parallel = R"("tp": 2, "pp": 2, "zero": 3)"});
  EXPECT_EQ(r.errors(), 3U) << r.text();
  EXPECT_THAT(r.text(), HasSubstr("framework ddp is data parallel only, but tp=2"));
  EXPECT_THAT(r.text(), HasSubstr("framework ddp is data parallel only, but pp=2"));
  EXPECT_THAT(r.text(), HasSubstr("framework ddp keeps whole gradients on every rank, but zero=3"));
  EXPECT_EQ(read(Parts{.framework = "ddp", .parallel = R"("zero": 1)"}).text(), "");
}

// 32 GPUs, pp 4: dp 8, so 80 sequences are 10 microbatches, no multiple of 4.
TEST(FrameworkRule, MegatronInterleavesMultiplesOfTheStages) {
  const Parts parts{.framework = "megatron", .parallel = R"("pp": 4, "vpp": 2)", .training = training(80, 1)};
  const Read r = read(parts);
  EXPECT_THAT(r.text(), HasSubstr("needs microbatches in multiples of pp=4, but there are 10"));
  EXPECT_THAT(r.text(), HasSubstr("use global_batch 64 or 96 (8 or 12 microbatches)"));
  Parts own = parts;
  own.framework = "orrery";
  EXPECT_EQ(read(own).errors(), 0U);
}

TEST(FrameworkRule, BlockingInterleavingNeedsCompleteGroups) {
  Parts parts{.parallel = R"("pp": 4, "vpp": 2)",
              .training = training(80, 1),
              .rest = R"("overlap": {"pipeline": false})"};
  const Read r = read(parts);
  EXPECT_THAT(r.text(),
              HasSubstr("can deadlock unless the microbatches are a multiple of pp=4; there are 10"));
  EXPECT_THAT(r.text(), HasSubstr("set overlap.pipeline to true, or use 8 or 12 microbatches"));
  parts.training = training(96, 1);
  EXPECT_EQ(read(parts).errors(), 0U);
}

// 32 GPUs, 32 heads, 32 layers: no tp goes with pp 6 and no pp with tp 3, so both are named.
TEST(WorldRule, AdviceCanBeTaken) {
  const Read r = read(Parts{.parallel = R"("tp": 3, "pp": 6)"});
  EXPECT_THAT(r.text(), HasSubstr("use tp 2 with pp 4 or 8"));
  EXPECT_EQ(read(Parts{.parallel = R"("tp": 2, "pp": 4)"}).errors(), 0U);
  EXPECT_EQ(read(Parts{.parallel = R"("tp": 2, "pp": 8)"}).errors(), 0U);
}

// 32 GPUs: tp 4 x pp 4 leaves dp 2, and 500 is no multiple of 3 x 4 either: both are said at once.
TEST(WorldRule, AWrongDpDoesNotHideTheBatch) {
  const Read r = read(Parts{.parallel = R"("tp": 4, "pp": 4, "dp": 4)", .training = training(500, 3)});
  EXPECT_EQ(r.errors(), 2U) << r.text();
  EXPECT_THAT(r.text(), HasSubstr("use dp 2 or \"auto\""));
  EXPECT_THAT(r.text(), HasSubstr("global_batch=500 is not a multiple of micro_batch 3 x dp 4 = 12"));
}

TEST(FrameworkRule, TiedEmbeddingUnderZero) {
  const Parts tied{.parallel = R"("pp": 2, "zero": 2)"};
  EXPECT_THAT(read(tied).text(),
              HasSubstr("the model's embedding is tied to its output layer, which pp=2 puts on another"));
  Parts untied = tied;
  untied.model = R"("models/zoo/llama-2-7b.json")";
  EXPECT_EQ(read(untied).errors(), 0U);
  Parts whole = tied;
  whole.parallel = R"("pp": 2, "zero": 1)";
  EXPECT_EQ(read(whole).text(), "");
}

// Legal, since its time can be told, but nothing to train with.
TEST(AdviceRule, CopiesThatDriftUnderCompression) {
  const auto said = [](const std::string& parallel, const std::string& top_k, const std::string& model) {
    Parts parts{.parallel = parallel, .rest = R"("compression": { "top_k": )" + top_k + " }"};
    parts.model = model;
    const Read r = read(parts);
    EXPECT_EQ(r.errors(), 0U) << r.text();
    return r.text();
  };
  const std::string gpt = R"("models/zoo/gpt2-124m.json")", llama = R"("models/zoo/llama-2-7b.json")";
  EXPECT_THAT(said(R"("tp": 4)", "0.01", llama), HasSubstr("the tp=4 ranks that share norms and biases each select"));
  EXPECT_THAT(said(R"("pp": 2)", "0.01", gpt), HasSubstr("the first and the last of pp=2 stages share the tied"));
  for (const auto& [parallel, top_k, model] : {std::tuple{R"("tp": 4)", "1", llama}, {R"("pp": 2)", "0.01", llama}, {"", "0.01", gpt}})
    EXPECT_THAT(said(parallel, top_k, model), Not(HasSubstr("drift"))) << parallel;
}

TEST(FrameworkRule, PrecisionOfTheGpu) {
  const Parts parts{.cluster = R"("hardware/clusters/dgx-1-v100.json")",
                    .training = training(64, 1, R"(, "precision": "bf16")")};
  const Read r = read(parts);
  EXPECT_THAT(r.text(), HasSubstr("V100"));
  EXPECT_THAT(r.text(), HasSubstr("has no bf16 arithmetic"));
  EXPECT_THAT(r.text(), HasSubstr("use fp32 or fp16"));
  Parts half = parts;
  half.training = training(64, 1, R"(, "precision": "fp16")");
  EXPECT_EQ(read(half).text(), "");
}

TEST(FrameworkRule, NvlsNeedsHopperSwitches) {
  const Parts parts{.rest = R"("network": { "algorithm": "nvls" })"};
  EXPECT_THAT(read(parts).text(), HasSubstr("algorithm nvls reduces inside the NVSwitch"));
  Parts hopper = parts;
  hopper.cluster = R"("hardware/clusters/dgx-h100.json")";
  EXPECT_EQ(read(hopper).text(), "");
}

TEST(FrameworkRule, RecomputeEveryBelongsToFull) {
  EXPECT_THAT(read(Parts{.training = training(64, 1, R"(, "recompute_every": 2)")}).text(),
              HasSubstr("recompute_every=2 says how full recomputation is spaced, but recompute is none"));
  EXPECT_THAT(
      read(Parts{.training = training(64, 1, R"(, "recompute": "full", "recompute_every": 33)")}).text(),
      HasSubstr("recompute_every=33 is more than the model's 32 layers"));
  EXPECT_EQ(read(Parts{.training = training(64, 1, R"(, "recompute": "full", "recompute_every": 2)")}).text(),
            "");
}

TEST(FrameworkRule, OffloadedOptimizerIsAdam) {
  const Parts parts{.training = training(64, 1, R"(, "optimizer": "sgd")"),
                    .rest = R"("offload": { "optimizer": "cpu" })"};
  EXPECT_THAT(read(parts).text(), HasSubstr("only Adam runs on the CPU"));
  Parts adam = parts;
  adam.training = training(64, 1);
  EXPECT_EQ(read(adam).text(), "");
}

// --- sizes
// ------------------------------------------------------------------------------------------------------------

TEST(SizeRule, ActivationsAndTheClock) {
  const char* llama = R"("models/zoo/llama-2-7b.json")";
  const Read large = read(Parts{
      .model = llama, .training = R"("micro_batch": 1000000, "accumulation": 1, "sequence_length": 100000)"});
  EXPECT_THAT(large.text(), HasSubstr("TB of activations a rank"));
  const Read slow =
      read(Parts{.model = llama,
                 .training = R"("micro_batch": 64, "global_batch": 320000000, "sequence_length": 4096)"});
  EXPECT_THAT(slow.text(), HasSubstr("beyond the simulator's clock"));
}

TEST(SizeRule, PipelineSteps) {
  const Read r =
      read(Parts{.layers = 64,
                 .parallel = R"("pp": 32, "vpp": 2)",
                 .training = R"("micro_batch": 1, "accumulation": 1000000, "sequence_length": 1)"});
  EXPECT_THAT(r.text(), HasSubstr("are more than 50000000 pipeline steps"));
  const Read chunks = read(Parts{.layers = 512, .parallel = R"("pp": 2, "layers_per_virtual_stage": 1)"});
  EXPECT_THAT(chunks.text(), HasSubstr("1 layers a virtual stage are 256 chunks a rank"));
}

// The embedding of 51200 x 4096 is the largest part: 209,715,200 gradients.
TEST(SizeRule, Buckets) {
  const auto bucket = [](const char* size) {
    return read(Parts{.rest = std::string("\"overlap\": {") + size + "}"});
  };
  EXPECT_THAT(bucket(R"("bucket_elements": 1)").text(), HasSubstr("into 2.1e+08 messages"));
  EXPECT_THAT(bucket(R"("bucket_elements": 1)").text(), HasSubstr("use at least 104858 elements"));
  EXPECT_THAT(bucket(R"("bucket_size": "1 kB")").text(), HasSubstr("buckets of 250 gradients"));
  EXPECT_EQ(bucket(R"("bucket_elements": 104858)").text(), "");
}

TEST(SizeRule, Ranks) {
  const auto ranks = [](int nodes) {
    return read(
        Parts{.nodes = nodes, .training = R"("micro_batch": 1, "accumulation": 1, "sequence_length": 128)"});
  };
  EXPECT_EQ(ranks(131'072).text(), "");
  const Read more = ranks(131'073);
  EXPECT_EQ(more.errors(), 1U) << more.text();
  EXPECT_THAT(more.text(), HasSubstr("1048584 ranks are more than the 1048576 that can be simulated"));
}

// 32,768 microbatches of a 70B model are slow, and legal.
TEST(SizeRule, ManyMicrobatchesAreLegal) {
  const Read r = read(Parts{.model = R"("models/zoo/llama-2-70b.json")",
                            .nodes = 1,
                            .parallel = R"("tp": 8)",
                            .training = training(32768, 1)});
  EXPECT_EQ(r.text(), "");
  EXPECT_EQ(r.scenario.training.microbatches, 32768);
}

// --- advice
// -----------------------------------------------------------------------------------------------------------

void expect_one_warning(const Parts& parts, const std::string& text) {
  const Read r = read(parts);
  EXPECT_EQ(r.errors(), 0U) << r.text();
  ASSERT_EQ(r.scenario.warnings.size(), 1U) << r.text();
  EXPECT_THAT(r.scenario.warnings[0].message, HasSubstr(text));
  EXPECT_EQ(r.scenario.warnings[0].severity, Severity::warning);
}

TEST(Advice, TensorParallelismLeavesTheNode) {
  expect_one_warning(Parts{.parallel = R"("tp": 16)"}, "tp=16 spans nodes of 8 GPUs");
  expect_one_warning(Parts{.parallel = R"("tp": 4, "order": "dp-tp-pp")"}, "tp=4 spans nodes of 8 GPUs");
}

// Four nodes of 8 GPUs, dealt round-robin: ranks 0 to 3 are on four nodes, ranks 0, 4, 8, ... on one.
TEST(Advice, TensorParallelismFollowsThePlacement) {
  const std::string dealt =
      R"({ "base": "hardware/clusters/a100-80g-16x8.json", "nodes": 4, "placement": "round_robin" })";
  expect_one_warning(Parts{.cluster = dealt, .parallel = R"("tp": 4)"}, "tp=4 spans nodes of 8 GPUs");
  EXPECT_EQ(read(Parts{.cluster = dealt, .parallel = R"("tp": 4, "order": "dp-tp-pp", "pp": 2)"}).text(), "");
}

// Groups of 4 on nodes of 6 GPUs: the first fits, the second is on two nodes.
TEST(Advice, TensorGroupThatStraddlesTwoNodes) {
  const std::string six =
      R"({ "base": "hardware/clusters/a100-80g-16x8.json", "nodes": 2, "node": { "gpus": 6 } })";
  expect_one_warning(Parts{.cluster = six, .parallel = R"("tp": 4)", .training = training(6, 1)},
                     "tp=4 spans nodes of 6 GPUs");
}

TEST(Advice, OneReplicaShardsNothing) {
  expect_one_warning(Parts{.nodes = 1, .parallel = R"("pp": 8, "zero": 1)"},
                     "zero=1 shards nothing: dp is 1");
}

// p = 4, m = 1..3 run, with a warning.
TEST(Advice, FewMicrobatches) {
  for (int m = 1; m <= 3; ++m)
    expect_one_warning(Parts{.parallel = R"("pp": 4)", .training = training(8 * m, 1)},
                       std::to_string(m) + " microbatches do not fill pp=4 stages");
  EXPECT_EQ(read(Parts{.parallel = R"("pp": 4)", .training = training(32, 1)}).text(), "");
  expect_one_warning(Parts{.parallel = R"("pp": 4)", .training = training(8, 1)},
                     "at least 75 % of the step is bubble");
}

TEST(Advice, SelectiveRecomputationWithFusedAttention) {
  const Parts parts{.training = training(64, 1, R"(, "recompute": "selective")")};
  expect_one_warning(parts, "selective recomputation saves almost nothing");
  Parts separate = parts;
  separate.rest = R"("kernels": { "fused_attention": false })";
  EXPECT_EQ(read(separate).text(), "");
}

TEST(Advice, SchedulesThatTheFrameworkLacks) {
  const Read gpipe = read(Parts{.framework = "megatron", .parallel = R"("pp": 2, "schedule": "gpipe")"});
  EXPECT_EQ(gpipe.errors(), 1U);
  EXPECT_THAT(gpipe.text(), HasSubstr("megatron has no gpipe schedule"));
  const Read chunks = read(Parts{.framework = "deepspeed", .parallel = R"("pp": 2, "vpp": 2)"});
  EXPECT_EQ(chunks.errors(), 1U);
  EXPECT_THAT(chunks.text(), HasSubstr("deepspeed has no interleaved schedule"));
  expect_one_warning(Parts{.framework = "megatron", .parallel = R"("zero": 3)"},
                     "Megatron-LM's distributed optimizer is ZeRO-1");
}

// FlashAttention needs an Ampere GPU: without one, attention is not fused unless the scenario insists.
TEST(Policy, FusedAttentionNeedsAmpere) {
  const Parts volta{.cluster = R"("hardware/clusters/dgx-1-v100.json")",
                    .training = training(64, 1, R"(, "precision": "fp16")")};
  EXPECT_FALSE(read(volta).scenario.kernels.fused_attention);
  EXPECT_TRUE(read(Parts{}).scenario.kernels.fused_attention);
  Parts insists = volta;
  insists.rest = R"("kernels": { "fused_attention": true })";
  EXPECT_TRUE(read(insists).scenario.kernels.fused_attention);
  EXPECT_THAT(read(insists).text(), HasSubstr("no FlashAttention"));
}

// 7B: a layer has 202,383,360 parameters, the embedding 131,072,000.
TEST(Advice, BucketLargerThanALayerUnderZero) {
  const auto with = [](const char* parallel, const char* overlap, const char* framework = "orrery") {
    return Parts{.model = R"("models/zoo/llama-2-7b.json")",
                 .framework = framework,
                 .parallel = parallel,
                 .rest = std::string(R"("overlap": { )") + overlap + " }"};
  };
  for (const char* idle :
       {R"("bucket_elements": 500000000)", R"("bucket_elements": 0)", R"("bucket_size": "1 GB")"})
    expect_one_warning(with(R"("zero": 2)", idle),
                       "has no effect: zero is 2, which reduces each layer by itself");
  EXPECT_EQ(read(with(R"("zero": 2)", R"("bucket_elements": 100000000)")).text(), "");
  EXPECT_EQ(read(with(R"("zero": 1)", R"("bucket_elements": 500000000)")).text(), "");
  // DeepSpeed's buckets are buffers, too, which take memory.
  EXPECT_EQ(read(with(R"("zero": 2)", R"("bucket_elements": 500000000)", "deepspeed")).text(), "");
}

TEST(Advice, SettingsWithoutEffect) {
  const Read r =
      read(Parts{.rest = R"("overlap": { "pipeline": true, "tensor_backward": false, "prefetch_units": 2,
    "parameter_gather": true }, "offload": { "pinned": false }, "kernels": { "fused_softmax": true })"});
  EXPECT_EQ(r.errors(), 0U);
  EXPECT_EQ(r.scenario.warnings.size(), 6U) << r.text();
  EXPECT_THAT(r.text(), HasSubstr("overlap.pipeline has no effect: pp is 1"));
  EXPECT_THAT(r.text(), HasSubstr("overlap.prefetch_units has no effect: zero is 0"));
}

}  // namespace
}  // namespace orrery::scenarios
