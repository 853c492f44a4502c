// The model report: its parts sum to the whole, and the familiar figures come out.
#include "models/model_report.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "tests/models/read_model.h"

namespace orrery::models {
namespace {

Architecture zoo(const std::string& file) {
  return read_model_file("models/zoo/" + file + ".json").architecture;
}

TEST(ModelReport, KindsAndUnitsSumToTheTotal) {
  for (const char* file : {"gpt2-124m", "bloom-176b", "phi-2", "gemma-2-9b", "qwen3-8b", "llama-3.1-8b", "mixtral-8x7b",
                           "deepseek-v3", "gpt-oss-20b"}) {
    const Architecture a = zoo(file);
    const ModelReport report = report_model(a, 1024);
    EXPECT_EQ(report.parameters, parameter_count(a)) << file;
    EXPECT_EQ(report.active_parameters, active_parameter_count(a)) << file;
    EXPECT_EQ(report.active_parameters == report.parameters, a.experts.count == 0) << file;
    EXPECT_EQ(report.by_kind.total(), report.parameters) << file;
    std::int64_t of_units = 0;
    for (const UnitReport& unit : report.units) of_units += unit.copies * unit.count;
    EXPECT_EQ(of_units, report.parameters) << file;
  }
}

TEST(ModelReport, Gpt2ByKind) {
  const ModelReport report = report_model(zoo("gpt2-124m"), 1024);
  EXPECT_EQ(report.by_kind.token_embedding, 50'257 * 768);
  EXPECT_EQ(report.by_kind.position_embedding, 1024 * 768);
  EXPECT_EQ(report.by_kind.attention, 12 * 4 * (768 * 768 + 768));
  EXPECT_EQ(report.by_kind.mlp, 12 * (2 * 768 * 3072 + 3072 + 768));
  EXPECT_EQ(report.by_kind.norms, (2 * 12 + 1) * 2 * 768);
  EXPECT_EQ(report.by_kind.output, 0);
  ASSERT_EQ(report.units.size(), 3U);
  EXPECT_EQ(report.units[1].unit, "layer");
  EXPECT_EQ(report.units[1].copies, 12);
  EXPECT_EQ(report.units[1].count, 7'087'872);
  EXPECT_EQ(report.units[1].weight_bytes_16bit, 2 * 7'087'872);
  EXPECT_EQ(report.units[1].state_bytes, 18 * 7'087'872);
}

// Six FLOPs a parameter and token is the rule of thumb; attention comes on top and grows with the sequence.
TEST(ModelReport, TrainingFlopsAreNearSixAParameter) {
  const Architecture a = zoo("llama-3.1-405b");
  const ModelReport report = report_model(a, 8192);
  const double matrices =
      static_cast<double>(report.parameters - report.by_kind.token_embedding - report.by_kind.norms);
  const TokenFlops& f = report.flops_per_token;
  EXPECT_DOUBLE_EQ(3.0 * (f.projections + f.mlp + f.head), 6.0 * matrices);
  EXPECT_DOUBLE_EQ(f.training_full, 3.0 * f.forward_full);
  EXPECT_DOUBLE_EQ(f.forward_full - f.forward_causal, 0.5 * f.attention_full);
  EXPECT_NEAR(f.forward_causal * 8192, forward_flops(a, 8192, a.vocab, true), 1e-9 * f.forward_causal * 8192);
  EXPECT_NEAR(report_model(a, 16384).flops_per_token.attention_full, 2.0 * f.attention_full,
              1e-6 * f.attention_full);
}

// Active experts count, and the router; of DeepSeek-V3 everything but the embedding, which is a look-up.
TEST(ModelReport, FlopsOfExpertsAreThoseOfTheActiveOnes) {
  for (const char* file : {"mixtral-8x7b", "deepseek-v3", "qwen3-30b-a3b"}) {
    const ModelReport report = report_model(zoo(file), 4096);
    const TokenFlops& f = report.flops_per_token;
    const std::int64_t vectors = report.by_kind.norms + (std::string(file) == "deepseek-v3" ? 58 * 256 : 0);
    const auto matrices = static_cast<double>(report.active_parameters - report.by_kind.token_embedding - vectors);
    EXPECT_DOUBLE_EQ(f.projections + f.mlp + f.head, 2.0 * matrices) << file;
  }
  const Architecture v3 = zoo("deepseek-v3");  // q k^T over 192 of a head, p v over 128
  EXPECT_DOUBLE_EQ(report_model(v3, 4096).flops_per_token.attention_full, 61.0 * 2.0 * 4096 * 128 * (192 + 128));
}

TEST(ModelReport, RefusesAnEmptySequence) { EXPECT_THROW(report_model(zoo("gpt2-124m"), 0), InternalError); }

}  // namespace
}  // namespace orrery::models
