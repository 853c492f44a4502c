// What each framework's policy amounts to, in numbers that its users know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/policy.h"
#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

using ::testing::HasSubstr;
using testing::Parts;
using testing::read;

int bytes_per_parameter(const Recipe& r) {
  return r.weight_bytes + r.gradient_bytes + (r.master_weights ? 4 : 0) + r.optimizer_state_bytes;
}

TEST(Policy, BytesPerParameter) {
  const auto bytes = [](Framework f, hardware::Precision p, Optimizer o) {
    return bytes_per_parameter(recipe_of(policy_of(f), p, o));
  };
  using hardware::Precision;
  EXPECT_EQ(bytes(Framework::megatron, Precision::fp16, Optimizer::adam), 18);
  EXPECT_EQ(bytes(Framework::deepspeed, Precision::fp16, Optimizer::adam), 16);
  EXPECT_EQ(bytes(Framework::ddp, Precision::fp32, Optimizer::adam), 16);
  EXPECT_EQ(bytes(Framework::megatron, Precision::tf32, Optimizer::adam), 16);
  EXPECT_EQ(bytes(Framework::deepspeed, Precision::bf16, Optimizer::sgd), 8);
  EXPECT_EQ(bytes(Framework::deepspeed, Precision::bf16, Optimizer::sgd_momentum), 12);
}

// fp32 weights are their own master copy.
TEST(Policy, SinglePrecisionHasNoMasterCopy) {
  for (const Policy& policy : policies())
    for (const auto precision : {hardware::Precision::fp32, hardware::Precision::tf32}) {
      const Recipe r = recipe_of(policy, precision, Optimizer::adam);
      EXPECT_FALSE(r.master_weights);
      EXPECT_EQ(r.weight_bytes, 4);
      EXPECT_EQ(r.gradient_bytes, 4);
    }
}

TEST(Policy, Buckets) {
  const auto elements = [](const char* framework, const char* overlap, int nodes, const char* parallel) {
    return read(Parts{.nodes = nodes,
                      .framework = framework,
                      .parallel = parallel,
                      .training = R"("micro_batch": 1, "accumulation": 1, "sequence_length": 128)",
                      .rest = std::string("\"overlap\": {") + overlap + "}"})
        .scenario.overlap.bucket_elements;
  };
  EXPECT_EQ(elements("megatron", "", 4, ""), 0);  // no overlap: one bucket
  EXPECT_EQ(elements("megatron", R"("gradient_reduce": true)", 4, ""), 40'000'000);
  EXPECT_EQ(elements("megatron", R"("gradient_reduce": true)", 16, ""), 128'000'000);
  EXPECT_EQ(elements("deepspeed", "", 4, ""), 500'000'000);
  EXPECT_EQ(elements("ddp", "", 4, ""), 6'553'600);                                   // 25 MiB of fp32
  EXPECT_EQ(elements("deepspeed", R"("bucket_size": "100 MB")", 4, ""), 50'000'000);  // of 2-byte gradients
}

TEST(Policy, OverlapFollowsThePlan) {
  const auto overlap = [](const char* framework, const char* parallel) {
    return read(Parts{.framework = framework, .parallel = parallel}).scenario.overlap;
  };
  EXPECT_FALSE(overlap("megatron", R"("pp": 4)").pipeline);
  EXPECT_TRUE(overlap("megatron", R"("pp": 4, "vpp": 2)").pipeline);
  EXPECT_FALSE(overlap("deepspeed", R"("zero": 2)").gradient_reduce);
  EXPECT_TRUE(overlap("deepspeed", R"("zero": 3)").gradient_reduce);
  EXPECT_TRUE(overlap("ddp", "").gradient_reduce);
  EXPECT_TRUE(overlap("orrery", R"("zero": 1)").parameter_gather);
}

// 5e7 elements are seven layers of GPT-2 and less than one of a 7B model.
TEST(Policy, PrefetchInLayers) {
  const auto units = [](const char* model) {
    return read(Parts{.model = model, .framework = "deepspeed", .parallel = R"("zero": 3)"})
        .scenario.overlap.prefetch_units;
  };
  EXPECT_EQ(units(R"("models/zoo/gpt2-124m.json")"), 7);
  EXPECT_EQ(units(R"("models/zoo/llama-2-7b.json")"), 1);
}

// DeepSpeed's stage3_max_live_parameters and max_reuse_distance, 1e9 elements: a small model gives nothing back, of a 7B
// model two layers of 202M stay (behind the second come two of the head's 131M and two of the last layer's).
TEST(Policy, SmallModelsStayLive) {
  const auto sharding = [](const char* model, const char* more) {
    return read(Parts{.model = model,
                      .framework = "deepspeed",
                      .parallel = R"("zero": 3)",
                      .rest = std::string(R"("sharding": { )") + more + " }"})
        .scenario.sharding;
  };
  const Sharding small = sharding(R"("models/zoo/gpt2-124m.json")", "");
  EXPECT_EQ(small.live_layers, 12);
  EXPECT_FALSE(small.root_reshards);
  const Sharding large = sharding(R"("models/zoo/llama-2-7b.json")", "");
  EXPECT_EQ(large.live_layers, 2);
  EXPECT_TRUE(large.root_reshards);
  EXPECT_EQ(sharding(R"("models/zoo/llama-2-7b.json")", R"("max_live_elements": 0)").live_layers, 0);
  EXPECT_EQ(sharding(R"("models/zoo/llama-2-7b.json")", R"("max_reuse_elements": 5000000000)").live_layers, 4) << "of 1e9";
}

TEST(Policy, CudaGraphsCostTheHostNothing) {
  const auto cost = [](const char* graphs) {
    return read(Parts{.rest = std::string(R"("kernels": { "cuda_graphs": )") + graphs + " }"})
        .scenario.cluster.host_issue_cost;
  };
  EXPECT_GT(cost("false"), Duration{});
  EXPECT_EQ(cost("true"), Duration{});
}

TEST(Policy, RecipeCanBeChangedAndSaysSo) {
  const auto scenario = [](const char* recipe) {
    return read(Parts{.framework = "deepspeed", .rest = recipe});
  };
  const testing::Read r = scenario(R"("recipe": { "gradient_bytes": 4 })");
  ASSERT_EQ(r.text(), "");
  EXPECT_EQ(bytes_per_parameter(r.scenario.recipe), 18);
  EXPECT_EQ(r.scenario.recipe.name, "deepspeed bf16, changed here: 2 + 4 + 4 + 8 = 18 B/parameter");
  EXPECT_EQ(scenario("\"recipe\": {}").scenario.recipe.name,
            "deepspeed bf16: 2 + 2 + 4 + 8 = 16 B/parameter");
  EXPECT_THAT(scenario(R"("recipe": { "gradient_bytes": 3 })").text(),
              HasSubstr("gradient_bytes=3 is not supported here"));
  EXPECT_THAT(scenario(R"("recipe": { "optimizer_state_bytes": 0 })").text(), HasSubstr("use 4 or 8"));
  EXPECT_EQ(scenario(R"("recipe": { "optimizer_state_bytes": 4 })").text(), "");
}

TEST(Policy, MasterCopyOfFp32Refused) {
  const testing::Read r =
      read(Parts{.training = R"("global_batch": 64, "micro_batch": 1, "sequence_length": 128,
    "precision": "fp32")",
                 .rest = R"("recipe": { "master_weights": true })"});
  EXPECT_THAT(r.text(), HasSubstr("there is no master copy"));
}

TEST(Policy, MomentsOfFp32AreFp32) {
  const auto with = [](const char* precision) {
    return read(Parts{.training = std::string(R"("global_batch": 64, "micro_batch": 1, "sequence_length": 128,
    "precision": ")") + precision +
                                  "\"",
                      .rest = R"("recipe": { "optimizer_state_bytes": 4 })"});
  };
  for (const char* whole : {"fp32", "tf32"})
    EXPECT_THAT(with(whole).text(), HasSubstr("optimizer_state_bytes=4 is not supported here")) << whole;
  EXPECT_EQ(with("bf16").text(), "");
}

TEST(Policy, VocabularyPadding) {
  const auto rows = [](const char* framework) {
    return read(Parts{.model = R"("models/zoo/gpt2-124m.json")",
                      .framework = framework,
                      .parallel = R"("tp": 2)"})
        .scenario.vocab_rows();
  };
  EXPECT_EQ(rows("megatron"), 50432);   // 50257 to a multiple of 256
  EXPECT_EQ(rows("deepspeed"), 50258);  // to a multiple of tp only
}

TEST(Policy, DropoutIsTheModelsUnlessStated) {
  const auto dropout = [](const char* more) {
    return read(Parts{.model = R"({ "base": "models/zoo/gpt2-124m.json", "dropout": 0.25 })",
                      .training =
                          std::string(R"("global_batch": 64, "micro_batch": 1, "sequence_length": 128)") +
                          more})
        .scenario.training.dropout;
  };
  EXPECT_DOUBLE_EQ(dropout(""), 0.25);
  EXPECT_DOUBLE_EQ(dropout(R"(, "dropout": 0)"), 0.0);
}

}  // namespace
}  // namespace orrery::scenarios
