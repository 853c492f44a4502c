// The rules of rules_megatron.cpp, rules_deepspeed.cpp and rules_torch.cpp, one row each: what is refused at
// which line with which reason and which way out; and that the named way out is legal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "scenarios/rules.h"
#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Parts;
using testing::read;
using testing::Read;

struct Case {
  std::string name;
  Parts refused;
  int line;  // 4: framework, 5: parallel, 6: training, 7: the rest
  std::string reason, hint;
  Parts legal;
  bool warns = false;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const std::string kTraining = R"("micro_batch": 1, "accumulation": 8, "sequence_length": 128)";

Parts of(const std::string& framework, const std::string& parallel, const std::string& rest,
         const std::string& training = "") {
  return {.model = "\"models/zoo/llama-2-7b.json\"",
          .framework = framework,
          .parallel = parallel,
          .training = kTraining + training,
          .rest = rest};
}

std::vector<Case> megatron_cases() {
  const auto plan = [](const std::string& parallel, const std::string& rest,
                       const std::string& training = "") { return of("megatron", parallel, rest, training); };
  const std::string gather = R"("overlap": { "parameter_gather": true, "gradient_reduce": true })";
  const std::string graphs = R"("kernels": { "cuda_graphs": true })";
  return {
      {"GatherWithoutDistributedOptimizer", plan("", gather), 7,
       "--overlap-param-gather) with the distributed optimizer only", "set zero to 1",
       plan(R"("zero": 1)", gather)},
      {"GatherWithoutOverlappedReduction", plan(R"("zero": 1)", R"("overlap": { "parameter_gather": true })"),
       7, "needs --overlap-grad-reduce", "set gradient_reduce to true", plan(R"("zero": 1)", gather)},
      {"InterleavingOnTwoStages", plan(R"("pp": 2, "vpp": 2)", R"("overlap": { "pipeline": false })"), 7,
       "several sends and receives between the same two ranks", "or pp to 4",
       plan(R"("pp": 4, "vpp": 2)", R"("overlap": { "pipeline": false })")},
      {"OffloadWithoutDistributedOptimizer", plan("", R"("offload": { "optimizer": "cpu" })"), 7,
       "goes through its precision-aware optimizer", "set zero to 1",
       plan(R"("zero": 1)", R"("offload": { "optimizer": "cpu" })")},
      {"NarrowMoments", plan("", R"("recipe": { "optimizer_state_bytes": 4 })"), 7,
       "--use-precision-aware-optimizer", "set zero to 1",
       plan(R"("zero": 1)", R"("recipe": { "optimizer_state_bytes": 4 })")},
      {"MainParameters", plan("", R"("recipe": { "master_weights": false })"), 7,
       "always keeps fp32 main parameters", "set master_weights to true",
       plan("", R"("recipe": { "master_weights": true })")},
      {"Compression", plan("", R"("compression": { "top_k": 0.01 })"), 7, "it has no top-k compression",
       "use framework \"orrery\"", of("orrery", "", R"("compression": { "top_k": 0.01 })"),
       true},
      {"Instances", plan(R"("zero": 3)", R"("sharding": { "group": 8 })"), 7,
       "--num-distributed-optimizer-instances", "use zero 1",
       plan(R"("zero": 1)", R"("sharding": { "group": 8 })")},
      {"SecondaryShards", plan(R"("zero": 3)", R"("sharding": { "secondary_group": 8 })"), 7,
       "keeps no second shard of weights", "\"deepspeed\" (hpZ)",
       of("deepspeed", R"("zero": 3)", R"("sharding": { "secondary_group": 8 })")},
      {"Graphs", plan("", graphs, R"(, "recompute": "full")"), 7, "does not record CUDA graphs of layers",
       "\"selective\"", plan("", graphs)},
      {"RecomputedStretches",
       plan(R"("pp": 4, "vpp": 4)", "\"name\": \"x\"", R"(, "recompute": "full", "recompute_every": 4)"), 6,
       "takes stretches within a virtual stage, and one has 2 layers", "use at most 2",
       plan(R"("pp": 4, "vpp": 4)", "\"name\": \"x\"", R"(, "recompute": "full", "recompute_every": 2)")},
  };
}

std::vector<Case> deepspeed_cases() {
  const auto plan = [](const std::string& parallel, const std::string& rest,
                       const std::string& training = "") {
    return of("deepspeed", parallel, rest, training);
  };
  const std::string offload = R"("offload": { "optimizer": "cpu" })",
                    gather = R"("overlap": { "parameter_gather": true })";
  return {
      {"OffloadWithoutZero", plan("", offload), 7, "is a part of DeepSpeed's ZeRO", "use zero 1, 2 or 3",
       plan(R"("zero": 2)", offload)},
      {"OverlappedGather", plan(R"("zero": 2)", gather), 7,
       "DeepSpeed's ZeRO-2 gathers the updated weights inside", "set parameter_gather to false",
       plan(R"("zero": 2)", R"("overlap": { "parameter_gather": false })")},
      {"OverlappedMessages", plan(R"("pp": 4)", R"("overlap": { "pipeline": true })"), 7,
       "waits for every message", "set pipeline to false",
       plan(R"("pp": 4)", R"("overlap": { "pipeline": false })")},
      {"SequenceParallelism", plan(R"("zero": 3, "tp": 2, "sp": true)", "\"name\": \"x\""), 5,
       "which ZeRO-3 replaces", "set sp to false", plan(R"("zero": 3, "tp": 2)", "\"name\": \"x\"")},
      {"UntestedOptimizer", plan(R"("zero": 1)", "\"name\": \"x\"", R"(, "optimizer": "sgd")"), 6,
       "only with zero_allow_untested_optimizer", "adamw",
       plan("", "\"name\": \"x\"", R"(, "optimizer": "sgd")"), true},
      {"OneBucket", plan(R"("zero": 2)", R"("overlap": { "bucket_elements": 0 })"), 7,
       "there is no \"one bucket\"", "use 500000000",
       plan(R"("zero": 2)", R"("overlap": { "bucket_elements": 500000000 })")},
      {"Graphs", plan("", R"("kernels": { "cuda_graphs": true })"), 7,
       "for inference, not for training steps", "framework \"megatron\"",
       of("megatron", "", R"("kernels": { "cuda_graphs": true })")},
      {"ResidentWeights", plan(R"("zero": 3)", R"("sharding": { "reshard_after_forward": false })"), 7,
       "gives every parameter back behind its use", "sharding.max_live_elements",
       plan(R"("zero": 3)", R"("sharding": { "reshard_after_forward": true })")},
      {"Units", plan(R"("zero": 3)", R"("sharding": { "unit_layers": 2 })"), 7,
       "it has neither wrapped units", "set overlap.prefetch_units instead",
       plan(R"("zero": 3)", R"("overlap": { "prefetch_units": 2 })")},
  };
}

std::vector<Case> torch_cases() {
  const std::string offload = R"("offload": { "optimizer": "cpu" })",
                    moments = R"("recipe": { "optimizer_state_bytes": 4 })";
  const std::string plain = "\"name\": \"x\"";
  Parts odd = of("fsdp", R"("tp": 8)", plain), even = of("fsdp", R"("tp": 8, "sp": true)", plain);
  odd.training = R"("micro_batch": 1, "accumulation": 8, "sequence_length": 1001)";
  even.training = R"("micro_batch": 1, "accumulation": 8, "sequence_length": 1000)";
  Parts tied = of("fsdp", R"("pp": 4, "zero": 0)", plain), untied = tied;
  tied.model.clear();
  return {
      {"TensorParallelBringsSequence", of("fsdp", R"("tp": 2)", plain), 5,
       "shards norms over the sequence, too", "set sp to true", even, true},
      {"TiedAcrossStages", tied, 5, "no weight that two stages share", "use pp 1", untied},
      {"ReductionStream", of("fsdp", "", R"("overlap": { "gradient_reduce": false })"), 7,
       "always has a stream of its own", "set it to true",
       of("fsdp", "", R"("overlap": { "gradient_reduce": true })")},
      {"FsdpGraphs", of("fsdp", "", R"("kernels": { "cuda_graphs": true })"), 7,
       "which a recorded graph cannot", "set cuda_graphs to false",
       of("fsdp", R"("zero": 0)", R"("kernels": { "cuda_graphs": true })")},
      {"GraphsAndOffload", of("orrery", "", offload + R"(, "kernels": { "cuda_graphs": true })"), 7,
       "the offloaded optimizer runs on the host", "offload nothing",
       of("orrery", "", R"("kernels": { "cuda_graphs": true })")},
      {"FsdpOffload", of("fsdp", "", offload), 7, "keeps parameters and gradients on the host, too",
       "framework \"deepspeed\"", of("deepspeed", R"("zero": 3)", offload)},
      {"FsdpCompression", of("fsdp", R"("zero": 0)", R"("compression": { "top_k": 0.01 })"), 7,
       "no communication hooks", "use framework \"ddp\"",
       of("ddp", "", R"("compression": { "top_k": 0.01 })")},
      {"FsdpBuckets", of("fsdp", "", R"("overlap": { "bucket_size": "25 MiB" })"), 7, "it has no buckets",
       "set sharding.unit_layers instead", of("fsdp", "", R"("sharding": { "unit_layers": 2 })")},
      {"FsdpMoments", of("fsdp", "", moments), 7, "keeps its moments in the parameters' type",
       "set optimizer_state_bytes to 8", of("megatron", R"("zero": 1)", moments)},
      {"DdpOffload", of("ddp", "", offload), 7, "runs it on the GPU", "offload nothing",
       of("deepspeed", R"("zero": 1)", offload)},
      {"DdpGather", of("ddp", R"("zero": 1)", R"("overlap": { "parameter_gather": true })"), 7,
       "broadcasts the updated weights inside its step", "set parameter_gather to false",
       of("ddp", R"("zero": 1)", plain)},
      {"DdpGradients", of("ddp", "", R"("recipe": { "gradient_bytes": 2 })"), 7,
       "under autocast the parameters are fp32", "set gradient_bytes to 4",
       of("ddp", "", R"("recipe": { "gradient_bytes": 4 })")},
  };
}

class FrameworkRules : public ::testing::TestWithParam<Case> {};

TEST_P(FrameworkRules, RefusesWithTheTrueReason) {
  const Case& c = GetParam();
  const Read r = read(c.refused);
  EXPECT_EQ(r.errors(), c.warns ? 0U : 1U) << r.text();
  EXPECT_THAT(r.text(), HasSubstr("test.json:" + std::to_string(c.line) + ":"));
  EXPECT_THAT(r.text(), HasSubstr(c.reason));
  EXPECT_THAT(r.text(), HasSubstr(c.hint));
  const Read legal = read(c.legal);
  EXPECT_EQ(legal.errors(), 0U) << legal.text();
  EXPECT_THAT(legal.text(), Not(HasSubstr(c.reason)));
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Megatron, FrameworkRules, ::testing::ValuesIn(megatron_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(DeepSpeed, FrameworkRules, ::testing::ValuesIn(deepspeed_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Torch, FrameworkRules, ::testing::ValuesIn(torch_cases()), name_of);

TEST(Torchtitan, CutsSequences) {
  Parts odd = of("fsdp", R"("tp": 8)", "\"name\": \"x\"");
  odd.training = R"("micro_batch": 1, "accumulation": 8, "sequence_length": 1001)";
  const Read r = read(odd);
  EXPECT_EQ(r.errors(), 1U) << r.text();
  EXPECT_THAT(r.text(), HasSubstr("torchtitan cuts sequences over tp: 1001 is not a multiple of 8"));
  EXPECT_THAT(r.text(), HasSubstr("use 1000 or 1008"));
}

// Rules of frameworks are counted where they are listed (docs/reference/rules.md): at least forty, no two
// alike.
TEST(RuleTables, HoldAtLeastForty) {
  std::set<std::string> says;
  std::size_t rules = 0;
  for (const RuleTable& table : rule_tables())
    for (const Rule& rule : table.rules) {
      ++rules;
      EXPECT_TRUE(says.insert(std::string(rule.says)).second) << rule.says;
      EXPECT_NE(rule.check, nullptr) << rule.name;
    }
  EXPECT_GE(rules, 60U);
  std::size_t of_frameworks = 0;
  for (const std::string& text : says)
    for (const char* framework : {"Megatron", "DeepSpeed", "DDP", "FSDP", "torch", "fully_shard", "hpZ"})
      if (text.find(framework) != std::string::npos) {
        ++of_frameworks;
        break;
      }
  EXPECT_GE(of_frameworks, 40U);
}

}  // namespace
}  // namespace orrery::scenarios
