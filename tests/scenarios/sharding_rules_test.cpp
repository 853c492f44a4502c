// The rules of scenarios/rules_sharding.cpp: what is refused, at which line, why, and which legal neighbours
// are named; and that a legal neighbour passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

using ::testing::HasSubstr;
using testing::Parts;
using testing::read;
using testing::Read;

// 32 ranks, dp 32 unless `parallel` says otherwise. The "parallel" line of the composed file is 5, the rest
// begins at 7.
Parts sharded(const std::string& sharding, const std::string& framework = "orrery",
              const std::string& parallel = R"("zero": 3)") {
  return {.framework = framework,
          .parallel = parallel,
          .training = R"("micro_batch": 1, "accumulation": 8, "sequence_length": 128)",
          .rest = "\"sharding\": { " + sharding + " }"};
}

void expect_refused(const Parts& parts, const std::string& line, const std::string& reason,
                    const std::string& hint) {
  const Read r = read(parts);
  EXPECT_EQ(r.errors(), 1U) << r.text();
  EXPECT_THAT(r.text(), HasSubstr("test.json:" + line + ":"));
  EXPECT_THAT(r.text(), HasSubstr(reason));
  EXPECT_THAT(r.text(), HasSubstr(hint));
}
void expect_legal(const Parts& parts) { EXPECT_EQ(read(parts).text(), ""); }

TEST(ShardGroup, DividesTheReplicas) {
  expect_refused(sharded(R"("group": 12)"), "7", "groups of 12 do not divide dp=32",
                 "use 8 or 16 or \"all\"");
  expect_refused(sharded(R"("group": 1)"), "7", "a group of one rank shards nothing",
                 "use zero 0, or a group of 2");
  expect_legal(sharded(R"("group": 8)"));
  expect_legal(sharded(R"("group": "all")"));
}

TEST(ReshardAfterForward, IsAProperDivisor) {
  expect_refused(sharded(R"("reshard_after_forward": 32)"), "7",
                 "a divisor of the 32 ranks that shard, other than 1 and 32", "use 16");
  expect_refused(sharded(R"("group": 8, "reshard_after_forward": 3)"), "7", "a divisor of the 8 ranks",
                 "use 2 or 4");
  expect_legal(sharded(R"("group": 8, "reshard_after_forward": 4)"));
}

TEST(SecondaryGroup, IsAProperDivisor) {
  expect_refused(sharded(R"("secondary_group": 5)"), "7", "5 ranks cannot keep a copy together",
                 "use 4 or 8");
  expect_legal(sharded(R"("secondary_group": 8)", "deepspeed"));
}

TEST(SecondaryGroup, NeedsWeightsToBeGivenBack) {
  expect_refused(sharded(R"("secondary_group": 8, "reshard_after_forward": false)"), "7",
                 "the backward gathers from the secondary shards", "set reshard_after_forward to true");
}

TEST(KeptWeights, ForTheStepAreKeptAfterTheForward) {
  expect_refused(sharded(R"("reshard_after_backward": false)"), "7", "are given back by the next forward",
                 "set reshard_after_forward to false, too");
  expect_legal(sharded(R"("reshard_after_backward": false, "reshard_after_forward": false)"));
}

TEST(KeptWeights, ForAMicrobatchNeedOneAtATime) {
  const std::string pipeline = R"("zero": 3, "pp": 4)";
  const auto untied = [](Parts parts) {
    parts.model = "\"models/zoo/llama-2-7b.json\"";
    return parts;
  };
  expect_refused(sharded(R"("reshard_after_forward": false)", "fsdp", R"("zero": 3, "schedule": "gpipe")"),
                 "7", "the gpipe schedule keeps several microbatches", "or reshard_after_backward to false");
  expect_refused(
      untied(
          sharded(R"("root_reshards": false, "reshard_after_backward": true, "reshard_after_forward": true)",
                  "fsdp", pipeline)),
      "7", "pp=4 keeps several microbatches between forward and backward", "set it to true");
  const Read r = read(untied(sharded("", "fsdp", pipeline)));  // what FSDP does in a pipeline: once a step
  EXPECT_EQ(r.errors(), 0U) << r.text();
  EXPECT_FALSE(r.scenario.sharding.reshard_after_backward);
  EXPECT_FALSE(r.scenario.sharding.reduce_every_microbatch);
}

TEST(Units, FitAStage) {
  expect_refused(sharded(R"("unit_layers": 40)"), "7",
                 "a unit of 40 layers is more than the 32 layers of a stage", "use at most 32");
  expect_legal(sharded(R"("unit_layers": 3)"));
}

TEST(Units, HoldWholeRecomputedStretches) {
  Parts parts = sharded(R"("unit_layers": 3)");
  parts.training += R"(, "recompute": "full", "recompute_every": 2)";
  expect_refused(parts, "7", "units of 3 layers cut the stretches of 2 layers", "use 2 or 4");
  parts.rest = R"("sharding": { "unit_layers": 4 })";
  expect_legal(parts);
}

TEST(Fsdp, HasItsOwnStages) {
  expect_refused(sharded("", "fsdp", R"("zero": 2)"), "5", "SHARD_GRAD_OP is not ZeRO-2",
                 "use zero 3, with sharding.reshard_after_forward false");
  expect_refused(sharded("", "fsdp", R"("zero": 1)"), "5", "no stage that shards optimizer states alone",
                 "or 0 for NO_SHARD");
  const Read r = read(sharded("", "fsdp", ""));
  EXPECT_EQ(r.text(), "");
  EXPECT_EQ(r.scenario.parallel.zero, 3);
}

TEST(FrameworkGroups, AreMics) {
  expect_refused(sharded(R"("group": 8)", "deepspeed", R"("zero": 1)"), "7",
                 "DeepSpeed shards within groups in MiCS only", "use zero 3");
  expect_refused(sharded(R"("group": 8)", "ddp", R"("zero": 1)"), "7",
                 "ZeroRedundancyOptimizer shards over all ranks", "leave the group out");
  const Read r = read(sharded(R"("group": 8)", "deepspeed"));
  EXPECT_EQ(r.text(), "");
  EXPECT_FALSE(r.scenario.sharding.replicas_every_microbatch);  // at the accumulation's end
  expect_legal(sharded(R"("group": 8)", "megatron", R"("zero": 1)"));
}

TEST(FrameworkSecondary, HasTwoNames) {
  expect_refused(sharded(R"("secondary_group": 8)", "fsdp"), "7",
                 "a secondary copy that stays (hpZ) is DeepSpeed's", "\"reshard_after_forward\": 8");
  expect_refused(sharded(R"("reshard_after_forward": 8)", "deepspeed"), "7", "a number here is FSDP2's",
                 "\"secondary_group\": 8");
  expect_refused(sharded(R"("secondary_group": 4, "group": 8)", "deepspeed"), "7",
                 "does not combine hpZ with MiCS", "leave one of them out");
}

TEST(DeepSpeed, ReducesInEveryMicrobatch) {
  expect_refused(sharded(R"("reduce": "step")", "deepspeed"), "7", "DeepSpeed's no_sync excludes ZeRO-3",
                 "use \"microbatch\"");
  expect_legal(sharded(R"("reduce": "step")", "fsdp"));
}

TEST(TopK, GoesToAllRanks) {
  Parts parts = sharded(R"("group": 8)", "orrery", R"("zero": 2)");
  parts.rest += ", \"compression\": { \"top_k\": 0.1 }";
  expect_refused(parts, "7", "the largest gradients are sent to all data-parallel ranks",
                 "use group \"all\"");
}

TEST(Quantised, HasItsRules) {
  const auto plan = [](const std::string& compression, const std::string& framework = "orrery",
                       const std::string& parallel = R"("zero": 3)") {
    Parts parts = sharded("", framework, parallel);
    parts.rest = "\"compression\": { " + compression + " }";
    return parts;
  };
  expect_refused(plan(R"("weights": "int8")", "orrery", R"("zero": 2)"), "7", "in ZeRO-3, but zero is 2",
                 "use zero 3");
  expect_refused(plan(R"("gradients": "int4")", "orrery", R"("zero": 1)"), "7",
                 "in ZeRO-2 and 3, but zero is 1", "use zero 2 or 3");
  expect_refused(plan(R"("weights": "int8", "block": 255)"), "7", "blocks of 255 elements", "use 254 or 256");
  expect_refused(plan(R"("gradients": "int4", "node_ranks": 3)"), "7",
                 "nodes of 3 ranks do not divide the 32 ranks", "use 2 or 4");
  expect_refused(plan(R"("weights": "int8")", "fsdp"), "7", "are DeepSpeed's; fsdp has none",
                 "use framework \"deepspeed\"");
  expect_refused(plan(R"("gradients": "int4")", "deepspeed", R"("zero": 2)"), "7",
                 "ZeRO++ is a part of ZeRO-3", "use zero 3");
  expect_refused(plan(R"("gradients": "int4", "top_k": 0.1)"), "7", "top_k and codes exclude each other",
                 "leave one");
  const Read r = read(plan(R"("weights": "int8", "gradients": "int4")", "deepspeed"));
  EXPECT_EQ(r.text(), "");
  EXPECT_EQ(r.scenario.compression.node_ranks, 8);
}

TEST(MixedPrecision, NeedsShardedWeights) {
  Parts parts{.parallel = R"("zero": 2)", .rest = R"("recipe": { "fp32_shards": true })"};
  expect_refused(parts, "7", "need sharded weights (zero 3, dp > 1)", "use zero 3");
  parts.parallel = R"("zero": 3)";
  const Read r = read(parts);
  EXPECT_EQ(r.text(), "");
  EXPECT_EQ(r.scenario.recipe.weight_bytes, 4);
  EXPECT_EQ(r.scenario.recipe.gathered_bytes, 2);
  EXPECT_FALSE(r.scenario.recipe.master_weights);
}

TEST(MixedPrecision, IsFsdpsPolicy) {
  const Read r = read(sharded("", "fsdp"));
  EXPECT_EQ(r.scenario.recipe.name, "fsdp bf16: 4 + 4 + 0 + 8 = 16 B/parameter, gathered in 2, reduced in 4");
  const Read whole = read(sharded("", "fsdp", R"("zero": 0)"));
  EXPECT_EQ(whole.scenario.recipe.gathered_bytes, 0);
}

TEST(Sharding, SettingsWithoutEffectAreSaid) {
  const Read r = read(sharded(R"("unit_layers": 2, "group": 8)", "orrery", R"("zero": 0)"));
  EXPECT_EQ(r.errors(), 0U) << r.text();
  EXPECT_THAT(r.text(), HasSubstr("sharding.unit_layers has no effect: zero is 0"));
  EXPECT_THAT(r.text(), HasSubstr("sharding.group has no effect: zero is 0"));
}

TEST(Fsdp1, StrategiesAreNamesOfSettings) {
  const auto strategy = [](const std::string& name, const std::string& more = "") {
    const Read r = read(sharded(R"("strategy": ")" + name + "\"" + more, "fsdp1", ""));
    EXPECT_EQ(r.text(), "");
    return r.scenario;
  };
  const Scenario full = strategy("full_shard"), kept = strategy("shard_grad_op"), node = strategy("hybrid_shard"),
                 both = strategy("hybrid_shard_zero2"), none = strategy("no_shard");
  for (const Scenario* s : {&full, &kept, &node, &both}) EXPECT_EQ(s->parallel.zero, 3);
  EXPECT_EQ(none.parallel.zero, 0);
  EXPECT_TRUE(full.sharding.reshard_after_forward && node.sharding.reshard_after_forward);
  EXPECT_FALSE(kept.sharding.reshard_after_forward || both.sharding.reshard_after_forward);
  EXPECT_EQ(full.sharding.group, 0);
  EXPECT_EQ(node.sharding.group, 8) << "the GPUs of a node";
  EXPECT_EQ(both.sharding.group, 8);
  EXPECT_EQ(strategy("hybrid_shard", R"(, "group": 4)").sharding.group, 4);
  EXPECT_TRUE(kept.sharding.reshard_after_backward);
  EXPECT_FALSE(strategy("shard_grad_op", R"(, "reduce": "step")").sharding.reshard_after_backward) << "inside no_sync()";
}

TEST(Fsdp1, HasDefaultsOfItsOwn) {
  const Scenario s = read(sharded("", "fsdp1", "")).scenario;
  EXPECT_TRUE(s.sharding.limit_on_host);
  EXPECT_FALSE(s.sharding.prefetch_before_kernels || s.sharding.root_reshards);
  EXPECT_EQ(s.sharding.backward_prefetch, BackwardPrefetch::pre);
  EXPECT_EQ(s.overlap.prefetch_units, 1);
  EXPECT_EQ(s.recipe.name, "fsdp1 bf16: 4 + 4 + 0 + 8 = 16 B/parameter, gathered in 2, reduced in 2");
  EXPECT_EQ(read(sharded(R"("backward_prefetch": "post")", "fsdp1", "")).scenario.overlap.prefetch_backward, 0);
  EXPECT_GE(read(sharded(R"("limit_all_gathers": false)", "fsdp1", "")).scenario.overlap.prefetch_units, 32);
}

}  // namespace
}  // namespace orrery::scenarios
