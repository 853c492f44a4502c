// The closed formulas of the literature, met exactly by what is derived from the schedule.
#include <gtest/gtest.h>

#include "schedule/compile.h"
#include "sim/metrics/predict.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

using schedule::BufferKind;
using testing::Gpt;
using testing::gpt;

schedule::MemoryPeak peak_of(const scenarios::Scenario& scenario, std::size_t stage = 0) {
  return schedule::memory_peak(schedule::compile(scenario).programs.at(stage));
}

std::int64_t item(const schedule::MemoryPeak& peak, const std::string& buffer) {
  for (const auto& i : peak.items)
    if (i.buffer == buffer) return i.bytes.count();
  return 0;
}

// Activation bytes of one more layer.
std::int64_t activations_of_a_layer(Gpt g) {
  const std::int64_t few = testing::of_kind(peak_of(gpt(g)), BufferKind::activation);
  ++g.layers;
  return testing::of_kind(peak_of(gpt(g)), BufferKind::activation) - few;
}

struct Symbols {
  std::int64_t sbh, as_over_h, t;
};
Symbols symbols(const Gpt& g) {
  const std::int64_t s = g.sequence, b = g.micro_batch, h = g.hidden, a = g.heads;
  return {s * b * h, a * s / h, g.tp};
}

// Korthikanti et al. 2022 (arXiv 2205.05198), equations 1 to 4 and section 5.
TEST(ActivationsOfALayer, WithoutTensorParallelismAre34And5as) {
  const Gpt g;
  const Symbols k = symbols(g);
  EXPECT_EQ(activations_of_a_layer(g), k.sbh * (34 + 5 * k.as_over_h));
}

TEST(ActivationsOfALayer, TensorParallelismLeavesTenWhole) {
  Gpt g;
  g.gpus = 8;
  g.tp = 8;
  const Symbols k = symbols(g);
  EXPECT_EQ(activations_of_a_layer(g), k.sbh * 10 + k.sbh * 24 / k.t + 5 * k.sbh * k.as_over_h / k.t);
}

TEST(ActivationsOfALayer, SequenceParallelismDividesAll) {
  Gpt g;
  g.gpus = 8;
  g.tp = 8;
  g.sp = true;
  const Symbols k = symbols(g);
  EXPECT_EQ(activations_of_a_layer(g), k.sbh * (34 + 5 * k.as_over_h) / k.t);
}

TEST(ActivationsOfALayer, SelectiveRecomputationDropsTheScores) {
  Gpt g;
  g.gpus = 8;
  g.tp = 8;
  g.sp = true;
  g.recompute = "selective";
  const Symbols k = symbols(g);
  EXPECT_EQ(activations_of_a_layer(g), 34 * k.sbh / k.t);
}

TEST(ActivationsOfALayer, FullRecomputationKeepsTheInput) {
  Gpt g;
  g.recompute = "full";
  EXPECT_EQ(activations_of_a_layer(g), 2 * symbols(g).sbh);
  g.gpus = 8;
  g.tp = 8;
  EXPECT_EQ(activations_of_a_layer(g), 2 * symbols(g).sbh);
}

// With 5as/h = 80, 34 / 114 = 30 % of the activations remain.
TEST(ActivationsOfALayer, SelectiveRecomputationLeaves30Percent) {
  Gpt g;
  g.hidden = 1024;
  g.heads = 16;
  g.sequence = 1024;
  ASSERT_EQ(5 * symbols(g).as_over_h, 80);
  const std::int64_t all = activations_of_a_layer(g);
  g.recompute = "selective";
  const std::int64_t selective = activations_of_a_layer(g);
  EXPECT_EQ(selective * 114, all * 34);
  EXPECT_NEAR(static_cast<double>(selective) / static_cast<double>(all), 0.30, 0.005);
}

// With a fused kernel the scores are not there to drop.
TEST(ActivationsOfALayer, SelectiveRecomputationOfFusedAttentionSavesAlmostNothing) {
  Gpt g;
  const auto of = [&](const char* recompute) {
    g.recompute = recompute;
    g.rest.clear();
    scenarios::Scenario few = gpt(g);
    few.kernels.fused_attention = true;
    ++g.layers;
    scenarios::Scenario more = gpt(g);
    --g.layers;
    more.kernels.fused_attention = true;
    return testing::of_kind(peak_of(more), BufferKind::activation) -
           testing::of_kind(peak_of(few), BufferKind::activation);
  };
  const std::int64_t none = of("none"), selective = of("selective");
  EXPECT_LT(selective, none);
  EXPECT_GT(static_cast<double>(selective), 0.98 * static_cast<double>(none));
  EXPECT_EQ(none - selective, 4 * g.micro_batch * g.heads * g.sequence);  // the row statistics, fp32
}

std::int64_t parameters(const scenarios::Scenario& s) { return models::parameter_count(s.model); }

TEST(States, MegatronTakes18BytesAParameter) {
  const scenarios::Scenario s = gpt({});
  EXPECT_EQ(testing::states(peak_of(s)), 18 * parameters(s));
}

TEST(States, DeepSpeedTakes16BytesAParameter) {
  Gpt g;
  g.framework = "deepspeed";
  const scenarios::Scenario s = gpt(g);
  EXPECT_EQ(testing::states(peak_of(s)), 16 * parameters(s));
}

// 6 + 12 / d; a rank's shard of every unit is a multiple of the allocation grain here.
TEST(States, TheDistributedOptimizerTakes6And12OverD) {
  Gpt g;
  g.gpus = 8;
  g.zero = 1;
  g.global_batch = 16;
  const scenarios::Scenario s = gpt(g);
  ASSERT_EQ(s.parallel.dp, 8);
  EXPECT_EQ(testing::states(peak_of(s)), 6 * parameters(s) + 12 * parameters(s) / 8);
}

TEST(States, OneReplicaShardsNothing) {
  for (int zero = 1; zero <= 3; ++zero) {
    Gpt g;
    const std::int64_t plain = testing::states(peak_of(gpt(g)));
    g.zero = zero;
    EXPECT_EQ(testing::states(peak_of(gpt(g))), plain) << "zero " << zero;
  }
}

// PP8 x DP1 holds 16 P / 8 bytes, PP4 x DP2 with ZeRO-1 (4 + 6) P / 4: the same 8 GPUs, half a byte a
// parameter more. Counted on inner stages, which hold layers alone.
TEST(States, TwoReplicasOfFourStagesHoldMoreThanOneOfEight) {
  Gpt g;
  g.framework = "deepspeed";
  g.layers = 16;
  g.gpus = 8;
  g.pp = 8;
  g.global_batch = 16;
  const std::int64_t of_layers = models::count(models::layer_parameters(gpt(g).model)) * g.layers;
  EXPECT_EQ(testing::states(peak_of(gpt(g), 1)), 16 * of_layers / 8);
  g.pp = 4;
  g.zero = 1;
  EXPECT_EQ(testing::states(peak_of(gpt(g), 1)), 4 * of_layers / 4 + 12 * of_layers / 4 / 2);
}

// A stage of 1F1B holds min(m, p - stage) microbatches, so its peak does not grow with m beyond p.
TEST(InFlight, OneForwardOneBackwardHoldsMinOfMicrobatchesAndStagesLeft) {
  for (const int m : {1, 2, 3, 4, 9}) {
    Gpt g;
    g.gpus = 8;
    g.tp = 2;
    g.pp = 4;
    g.micro_batch = 1;
    g.global_batch = m;
    const schedule::Schedule schedule = schedule::compile(gpt(g));
    for (int stage = 0; stage < 4; ++stage)
      EXPECT_EQ(schedule.programs.at(static_cast<std::size_t>(stage)).slots,
                static_cast<std::uint32_t>(std::min(m, 4 - stage)))
          << "m = " << m << ", stage " << stage;
  }
}

TEST(InFlight, LiveActivationsAreThoseOfTheMicrobatchesInFlight) {
  Gpt g;
  g.layers = 8;
  g.gpus = 8;
  g.tp = 2;
  g.pp = 4;
  g.micro_batch = 1;
  const auto scores = [&](int m, std::size_t stage) {
    g.global_batch = m;
    return item(peak_of(gpt(g), stage), "attention.probabilities");
  };
  const std::int64_t layer =
      std::int64_t{2} * g.heads * g.sequence * g.sequence / g.tp;  // 2 a s^2 b / t bytes
  for (const int m : {1, 2, 4, 8, 64})
    for (std::size_t stage = 0; stage < 4; ++stage)
      EXPECT_EQ(scores(m, stage), 2 * layer * std::min<std::int64_t>(m, 4 - static_cast<std::int64_t>(stage)))
          << "m = " << m << ", stage " << stage;
}

// A user's 1B model on one V100 32 GB: the allocation that failed was that of the fp32 logits.
scenarios::Scenario forgotten_logits(bool softmax_fp32_copy) {
  return testing::written(fmt::format(R"({{ "name": "1B on one V100",
  "model": {{ "layers": 36, "hidden": 1280, "heads": 20, "kv_heads": 20, "ffn_hidden": 5120, "vocab": 50304, "activation": "swiglu",
             "position": "learned", "max_positions": 1024, "dropout": 0.1 }},
  "cluster": {{ "base": "hardware/clusters/a100-80g-1gpu.json", "gpu": "hardware/gpus/v100-sxm2-32gb.json" }},
  "framework": "megatron",
  "training": {{ "global_batch": 4, "micro_batch": 4, "sequence_length": 1024, "precision": "fp16" }},
  "kernels": {{ "fused_attention": false, "softmax_fp32_copy": {} }} }})",
                                      softmax_fp32_copy));
}

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

std::int64_t score_bytes(const schedule::MemoryPeak& peak) {
  return item(peak, "attention.probabilities") + item(peak, "attention.mask") +
         item(peak, "attention.dropped");
}

TEST(ForgottenLogits, Fp32LogitsAre786MiB) {
  const schedule::MemoryPeak peak = peak_of(forgotten_logits(false));
  EXPECT_EQ(item(peak, "logits"), std::int64_t{786} << 20);
}

TEST(ForgottenLogits, TheKernelPolicyDecidesTheAttentionTerm) {
  const std::int64_t squares = std::int64_t{36} * 20 * 1024 * 1024 * 4;
  EXPECT_EQ(score_bytes(peak_of(forgotten_logits(false))), 5 * squares);
  EXPECT_NEAR(static_cast<double>(5 * squares) / kGib, 14.1, 0.05);
  EXPECT_EQ(score_bytes(peak_of(forgotten_logits(true))), 7 * squares);
  EXPECT_NEAR(static_cast<double>(7 * squares) / kGib, 19.7, 0.05);
}

TEST(ForgottenLogits, DoesNotFitAndSaysWhatWouldHelp) {
  const Result r = predict(forgotten_logits(false)).result;
  EXPECT_EQ(r.verdict, Verdict::does_not_fit);
  ASSERT_FALSE(r.warnings.empty());
  EXPECT_EQ(r.warnings.front().severity, Severity::error);
  EXPECT_NE(r.warnings.front().hint.find("fused_attention"), std::string::npos) << r.warnings.front().hint;
}

// 70.55B parameters at 18 B are 1270 GB of 8 x 80 GB.
TEST(States, SeventyBillionDoNotFitOnEightA100) {
  const scenarios::Scenario s = testing::written(R"({ "model": "models/zoo/llama-3.1-70b.json",
  "cluster": "hardware/clusters/dgx-a100-80g.json", "framework": "megatron", "parallel": { "tp": 8, "sp": true },
  "training": { "global_batch": 8, "micro_batch": 1, "sequence_length": 2048, "recompute": "full" } })");
  const Prediction p = predict(s);
  EXPECT_NEAR(8.0 * static_cast<double>(testing::states(p.result.stages.front().memory)) * 1e-9, 1270.0, 1.0);
  EXPECT_EQ(p.result.verdict, Verdict::does_not_fit);
  ASSERT_FALSE(p.result.warnings.empty());
  EXPECT_NE(p.result.warnings.front().hint.find("offload"), std::string::npos)
      << p.result.warnings.front().hint;
}

}  // namespace
}  // namespace orrery::sim
