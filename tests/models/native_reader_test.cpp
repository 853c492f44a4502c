// Orrery's own model files: defaults, and a finding with place and hint for every kind of mistake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/models/read_model.h"

namespace orrery::models {
namespace {

using testing::HasSubstr;

constexpr const char* minimal = R"("layers": 2, "hidden": 64, "heads": 4, "vocab": 100)";

ReadModel with(const std::string& more, const std::string& position = R"("position": "rotary")") {
  return read_model_text("{" + std::string(minimal) + ",\n " + position + (more.empty() ? "" : ",\n ") +
                         more + "}");
}

void expect_error(const ReadModel& read, const std::string& message, const std::string& hint) {
  ASSERT_TRUE(read.diagnostics.has_errors());
  EXPECT_THAT(read.diagnostics.text(), HasSubstr(message));
  EXPECT_THAT(read.diagnostics.text(), HasSubstr(hint));
}

TEST(NativeReader, LeftOutKeysHaveTheDocumentedDefaults) {
  const ReadModel read = with("");
  ASSERT_TRUE(read.diagnostics.all().empty()) << read.diagnostics.text();
  const Architecture& a = read.architecture;
  EXPECT_EQ(a.kv_heads, 4);
  EXPECT_EQ(a.head_dim, 16);
  EXPECT_EQ(a.ffn_hidden, 256);
  EXPECT_TRUE(a.qkv_bias && a.attention_out_bias && a.mlp_bias && a.norm_bias && a.tied_embeddings);
  EXPECT_FALSE(a.head_bias || a.embedding_norm || a.qk_norm || a.post_norms || a.parallel_block ||
               a.shared_norm);
  EXPECT_EQ(a.norm, NormKind::layer_norm);
  EXPECT_EQ(a.activation, ActivationKind::gelu);
}

TEST(NativeReader, RmsNormHasNoBiasByDefault) {
  const ReadModel read = with(R"("norm": "rms_norm")");
  ASSERT_FALSE(read.diagnostics.has_errors());
  EXPECT_FALSE(read.architecture.norm_bias);
}

TEST(NativeReader, ExplicitHeadSizeMayExceedTheHiddenSize) {
  const ReadModel read = with(R"("head_dim": 128)");
  ASSERT_FALSE(read.diagnostics.has_errors()) << read.diagnostics.text();
  EXPECT_EQ(read.architecture.head_dim, 128);
}

TEST(NativeReader, UnknownKeyIsAnErrorWithASuggestionAtItsPlace) {
  const ReadModel read = with(R"("tied_embedings": true)");
  expect_error(read, "m.json:3:2: error: unknown key \"tied_embedings\"",
               "did you mean \"tied_embeddings\"?");
}

TEST(NativeReader, HeadSizeThatIsNoIntegerIsAnError) {
  const ReadModel read = read_model_text(
      "{\"layers\": 2, \"hidden\": 1792,\n \"heads\": 24, \"vocab\": 9, \"position\": \"none\"}");
  expect_error(read,
               "m.json:2:11: error: hidden=1792 is not a multiple of heads=24, and head_dim is not given",
               "give head_dim, or use 16 or 28 heads");
}

TEST(NativeReader, KeyValueHeadsMustDivideHeads) {
  expect_error(with(R"("kv_heads": 3)"), "kv_heads=3 does not divide heads=4", "use 2 or 4");
  expect_error(with(R"("kv_heads": 8)"), "kv_heads=8 does not divide heads=4", "use 4");
}

TEST(NativeReader, LearnedPositionsNeedATableAndOthersHaveNone) {
  expect_error(with("", R"("position": "learned")"), "\"max_positions\" in the model is required",
               "max_positions");
  expect_error(with(R"("max_positions": 2048)"), "\"max_positions\" has no meaning with position \"rotary\"",
               "remove it");
}

TEST(NativeReader, ContradictionsAreErrors) {
  expect_error(with(R"("norm": "rms_norm", "norm_bias": true)"), "an RMSNorm has no bias", "layer_norm");
  expect_error(with(R"("shared_norm": true)"), "\"shared_norm\" needs \"parallel_block\"", "side by side");
  expect_error(with(R"("post_norms": true, "parallel_block": true)"), "exclude each other", "false");
}

TEST(NativeReader, GatedModelsMustSayTheirWidth) {
  expect_error(with(R"("activation": "swiglu")"), "\"ffn_hidden\" in the model is required", "ffn_hidden");
}

TEST(NativeReader, WrongKindsAndRangesAreErrors) {
  expect_error(with(R"("dropout": 1.5)"), "\"dropout\" in the model is 1.5", "0.99");
  expect_error(with(R"("qkv_bias": "yes")"), "\"qkv_bias\" in the model must be a boolean", "true or false");
  expect_error(with(R"("norm": "batch_norm")"), "\"norm\" in the model is unknown", "layer_norm, rms_norm");
  expect_error(with(R"("kv_heads": 2.5)"), "\"kv_heads\" in the model must be an integer", "from 1 to");
  for (const char* bad : {"-2", "0", "200000000", "1e300", "\"2\"", "[2]", "{}", "true", "null"}) {
    const ReadModel read = read_model_text(
        R"({"hidden": 64, "heads": 4, "vocab": 9, "position": "none", "layers": )" + std::string(bad) + "}");
    expect_error(read, "\"layers\" in the model", "m.json:1:");
  }
}

TEST(NativeReader, AbsurdSizesAreRefusedBeforeTheyOverflow) {
  const ReadModel read = read_model_text(
      R"({"layers": 100000, "hidden": 4194304, "heads": 65536, "head_dim": 65536, "vocab": 9, "position": "none"})");
  expect_error(read, "parameters", "at most 1e+15");
}

TEST(NativeReader, AllErrorsAppearAtOnce) {
  const ReadModel read = read_model_text(
      R"({"layers": -1, "hidden": "x", "heads": 4, "vocabulary": 5, "position": "rotery", "norm_bias": 3})");
  std::size_t errors = 0;
  for (const Diagnostic& d : read.diagnostics.all()) errors += d.severity == Severity::error ? 1 : 0;
  EXPECT_GE(errors, 6U) << read.diagnostics.text();  // those five, and the missing vocab
}

TEST(NativeReader, WhatIsNoObjectIsAnError) {
  for (const char* text : {"[]", "3", "\"gpt2\"", "null", "true"})
    expect_error(read_model_text(text), "the model must be an object", "m.json:1:1");
}

TEST(NativeReader, TruncatedFilesAreErrors) {
  const std::string whole = read_source("models/zoo/llama-2-7b.json")->text;
  for (std::size_t length = 0; length + 2 < whole.size(); ++length)
    ASSERT_TRUE(read_model_text(whole.substr(0, length)).diagnostics.has_errors()) << length;
}

TEST(NativeReader, NamesWithQuotesAndUmlautsSurviveWriting) {
  Architecture a = with("").architecture;
  a.name = "a \"b\" \\ \xc3\xa4\n";
  EXPECT_EQ(read_model_text(write_architecture(a)).architecture, a);
}

}  // namespace
}  // namespace orrery::models
