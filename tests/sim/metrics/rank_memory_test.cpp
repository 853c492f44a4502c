// What lies outside the schedule's memory, the verdict, and who is blamed.
#include <gtest/gtest.h>

#include "base/quantities.h"
#include "schedule/compile.h"
#include "sim/metrics/predict.h"
#include "sim/metrics/rank_memory.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

using testing::Gpt;
using testing::gpt;

TEST(Verdict, IsRiskyAbove95Percent) {
  const Bytes capacity(100'000);
  EXPECT_EQ(verdict_of(Bytes(95'000), capacity), Verdict::fits);
  EXPECT_EQ(verdict_of(Bytes(95'001), capacity), Verdict::risky);
  EXPECT_EQ(verdict_of(Bytes(100'000), capacity), Verdict::risky);
  EXPECT_EQ(verdict_of(Bytes(100'001), capacity), Verdict::does_not_fit);
}

TEST(Communicators, AreDistinctGroupsOfMoreThanOne) {
  Gpt g;
  EXPECT_EQ(communicators(schedule::compile(gpt(g)), 0), 0);
  g.gpus = 8;
  g.global_batch = 16;
  EXPECT_EQ(communicators(schedule::compile(gpt(g)), 0), 1);  // data
  g.tp = 2;
  EXPECT_EQ(communicators(schedule::compile(gpt(g)), 0), 2);  // and tensor
  g.pp = 2;
  EXPECT_EQ(communicators(schedule::compile(gpt(g)), 0),
            3);  // and pipe; with two stages the tied embedding's is the same
}

TEST(Communicators, TheTiedEmbeddingHasOneOfItsOwn) {
  Gpt g;
  g.gpus = 8;
  g.pp = 4;
  g.global_batch = 16;
  const schedule::Schedule s = schedule::compile(gpt(g));
  EXPECT_EQ(communicators(s, 0), communicators(s, s.program_group.member(0, 1)) + 1);
}

// The second pipe group exists to have a communicator of its own, though its members are those of the first.
TEST(Communicators, TwoStagesOfSeveralChunksHaveTwoPipes) {
  Gpt g;
  g.gpus = 8;
  g.tp = 4;
  g.pp = 2;
  g.global_batch = 8;
  const std::int64_t one = communicators(schedule::compile(gpt(g)), 0);
  g.parallel = R"(, "vpp": 2)";
  EXPECT_EQ(communicators(schedule::compile(gpt(g)), 0), one + 1);
}

// What the hint of a plan whose states do not fit says.
std::string states_hint(const Gpt& g) {
  scenarios::Scenario s = gpt(g);
  s.cluster.gpu.memory = Bytes::from_mib(64);
  for (const Diagnostic& d : predict(s).result.warnings)
    if (d.hint.rfind("states are", 0) == 0) return d.hint;
  return {};
}

Gpt replicas(const char* framework, int zero) {
  Gpt g;
  g.gpus = 8;
  g.hidden = 2048;
  g.heads = 32;
  g.sequence = 128;
  g.micro_batch = 1;
  g.global_batch = 16;
  g.framework = framework;
  g.zero = zero;
  g.recompute = "full";
  return g;
}

TEST(StatesHint, SaysWhatEachLegalStageWouldTake) {
  const std::int64_t p = models::parameter_count(gpt(replicas("deepspeed", 0)).model);
  const std::string hint = states_hint(replicas("deepspeed", 0));
  EXPECT_NE(hint.find("zero 1 would make them " + human_bytes(Bytes(4 * p + 12 * p / 8))), std::string::npos)
      << hint;
  EXPECT_NE(hint.find("zero 2 would make them about " + human_bytes(Bytes(2 * p + 14 * p / 8))),
            std::string::npos)
      << hint;
  EXPECT_NE(hint.find("zero 3 would make them about " + human_bytes(Bytes(16 * p / 8))), std::string::npos)
      << hint;
}

// Under ZeRO-2 gradients are sharded already: only the weights are left to divide.
TEST(StatesHint, DoesNotDivideGradientsTwice) {
  const std::int64_t p = models::parameter_count(gpt(replicas("deepspeed", 2)).model);
  const std::string hint = states_hint(replicas("deepspeed", 2));
  EXPECT_NE(hint.find("zero 3 would make them about " + human_bytes(Bytes(16 * p / 8))), std::string::npos)
      << hint;
}

TEST(StatesHint, NamesNoStageThatTheFrameworkRefuses) {
  const std::string ddp = states_hint(replicas("ddp", 0));
  EXPECT_NE(ddp.find("zero 1"), std::string::npos) << ddp;
  EXPECT_EQ(ddp.find("zero 3"), std::string::npos) << ddp;
  for (const char* framework : {"deepspeed", "megatron"}) {  // megatron: the embedding is tied
    Gpt g = replicas(framework, 1);
    g.pp = 2;
    const std::string hint = states_hint(g);
    EXPECT_NE(hint, "");
    EXPECT_EQ(hint.find("zero"), std::string::npos) << hint;
  }
}

TEST(FixedMemory, SumsToTheTotal) {
  Gpt g;
  g.gpus = 8;
  g.global_batch = 16;
  const scenarios::Scenario s = gpt(g);
  const auto stages = stage_memory(schedule::compile(s), s.cluster);
  ASSERT_EQ(stages.size(), 1U);
  Bytes sum = stages[0].memory.peak;
  for (const FixedMemory& line : stages[0].fixed) {
    EXPECT_FALSE(line.why.empty());
    sum += line.bytes;
  }
  EXPECT_EQ(sum, stages[0].total);
  EXPECT_EQ(stages[0].fixed[0].bytes, s.cluster.context_bytes);
  EXPECT_EQ(stages[0].fixed[1].bytes, s.cluster.communicator_bytes);
}

TEST(SegmentRounding, LargeBlocksComeInStepsOf2MiB) {
  schedule::Program program;
  const auto buffer = [&](const char* name, std::int64_t bytes) {
    program.buffers.push_back({.name = name, .type = schedule::DataType::byte, .elements = bytes});
  };
  buffer("small", 9 << 20);
  buffer("even", 12 << 20);
  buffer("odd", 13 << 20);
  schedule::MemoryPeak peak;
  for (const auto& b : program.buffers) peak.items.push_back({b.name, b.kind, b.bytes() * 3});
  EXPECT_EQ(segment_rounding(program, peak), Bytes(3 << 20));
}

TEST(HostMemory, IsThatOfTheFullestNode) {
  Gpt g;
  g.gpus = 16;
  g.zero = 2;
  g.framework = "deepspeed";
  g.global_batch = 32;
  g.rest = R"(, "offload": { "optimizer": "cpu" })";
  const Prediction p = predict(gpt(g));
  const schedule::MemoryPeak& memory = p.result.stages.front().memory;
  EXPECT_GT(memory.host_peak, Bytes());
  EXPECT_EQ(p.result.host_bytes, memory.host_peak * 8);
  EXPECT_EQ(testing::of_kind(memory, schedule::BufferKind::optimizer), 0);
}

TEST(HostMemory, AFullHostDoesNotFit) {
  Gpt g;
  g.gpus = 8;
  g.zero = 2;
  g.framework = "deepspeed";
  g.global_batch = 16;
  g.rest = R"(, "offload": { "optimizer": "cpu" })";
  scenarios::Scenario s = gpt(g);
  s.cluster.node.host_memory = Bytes::from_mib(64);
  const Result r = predict(s).result;
  EXPECT_EQ(r.device_verdict, Verdict::fits);
  EXPECT_EQ(r.verdict, Verdict::does_not_fit);
  ASSERT_FALSE(r.warnings.empty());
  EXPECT_NE(r.warnings.front().message.find("host"), std::string::npos);
}

// States that exceed the GPU point at the line that shards them.
TEST(DoesNotFit, PointsAtTheLineThatCausedIt) {
  const scenarios::Scenario s = testing::written(R"({
  "model": "models/zoo/llama-2-13b.json",
  "cluster": "hardware/clusters/dgx-a100-80g.json",
  "parallel": { "tp": 1,
    "zero": 0 },
  "training": { "global_batch": 8, "micro_batch": 1, "sequence_length": 2048, "recompute": "full" } })");
  const Result r = predict(s).result;
  ASSERT_EQ(r.verdict, Verdict::does_not_fit);
  ASSERT_FALSE(r.warnings.empty());
  EXPECT_EQ(r.warnings.front().place.line, 5U);
  EXPECT_NE(r.warnings.front().hint.find("zero 3"), std::string::npos) << r.warnings.front().hint;
  EXPECT_GT(r.step_time_s.value, 0.0);  // it gets its time all the same
}

TEST(MemoryInterval, HoldsTheValue) {
  const Result r = predict(gpt({})).result;
  EXPECT_LT(r.peak_memory_bytes.low, r.peak_memory_bytes.value);
  EXPECT_GT(r.peak_memory_bytes.high, r.peak_memory_bytes.value);
  EXPECT_EQ(r.peak_memory_bytes.value, static_cast<double>(r.stages[r.worst_stage].total.count()));
}

}  // namespace
}  // namespace orrery::sim
