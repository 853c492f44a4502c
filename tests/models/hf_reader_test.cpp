// Hugging Face configurations: one small text per oddity, each after a real file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/models/read_model.h"

namespace orrery::models {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string llama_with(const std::string& more) {
  return R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
 "vocab_size": 32000, )" +
         more + "}";
}

Architecture read_clean(const std::string& text) {
  const ReadModel read = read_model_text(text);
  EXPECT_FALSE(read.diagnostics.has_errors()) << read.diagnostics.text();
  return read.architecture;
}

void expect_error(const std::string& text, const std::string& message, const std::string& hint) {
  const ReadModel read = read_model_text(text);
  ASSERT_TRUE(read.diagnostics.has_errors()) << text;
  EXPECT_THAT(read.diagnostics.text(), HasSubstr(message));
  EXPECT_THAT(read.diagnostics.text(), HasSubstr(hint));
  EXPECT_THAT(read.diagnostics.text(), HasSubstr("m.json:"));
}

TEST(HfReader, Llama2IsTheZooModel) {
  Architecture a = read_clean(llama_with(R"("intermediate_size": 11008, "torch_dtype": "float16")"));
  const Architecture zoo = read_model_file("models/zoo/llama-2-7b.json").architecture;
  a.name = zoo.name;
  a.source = zoo.source;
  EXPECT_EQ(a, zoo);
}

TEST(HfReader, FourSpellingsOfEveryDimension) {
  for (const char* text :
       {R"("n_embed": 1024, "n_layer": 24, "num_attention_heads": 16, "n_inner": null)",
        R"("hidden_size": 1024, "num_hidden_layers": 24, "n_head": 16)",
        R"("n_embd": 1024, "num_layers": 24, "n_heads": 16, "n_inner": 4096)",
        R"("d_model": 1024, "n_layers": 24, "num_heads": 16, "intermediate_size": 4096)"}) {
    const Architecture a =
        read_clean(R"({"model_type": "bloom", "vocab_size": 250880, )" + std::string(text) + "}");
    EXPECT_EQ(parameter_count(a), 559'214'592) << text;
  }
}

TEST(HfReader, SpellingsThatDisagreeAreAnError) {
  expect_error(
      R"({"model_type": "bloom", "vocab_size": 9, "hidden_size": 64, "n_layer": 2, "num_hidden_layers": 3,
 "n_head": 4})",
      "n_layer=2 contradicts num_hidden_layers=3", "keep one");
}

TEST(HfReader, NullMeansTheDefault) {
  const Architecture a = read_clean(llama_with(
      R"("intermediate_size": 11008, "head_dim": null, "num_key_value_heads": null, "rope_scaling": null)"));
  EXPECT_EQ(a.head_dim, 128);
  EXPECT_EQ(a.kv_heads, 32);
}

TEST(HfReader, HeadSizeIsDerivedOnlyWhereItDivides) {
  expect_error(
      R"({"model_type": "llama", "hidden_size": 1792, "num_hidden_layers": 2, "num_attention_heads": 24,
 "intermediate_size": 64, "vocab_size": 9})",
      "m.json:1:93: error: hidden_size=1792 is not a multiple of num_attention_heads=24, and head_dim",
      "give head_dim, or use 16 or 28 heads");
  const Architecture a = read_clean(R"({"model_type": "qwen3", "hidden_size": 6144, "num_hidden_layers": 2,
 "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 64, "vocab_size": 9})");
  EXPECT_EQ(a.head_dim, 128);
}

TEST(HfReader, TiedEmbeddingsDefaultIsTheFamilys) {
  EXPECT_FALSE(read_clean(llama_with(R"("intermediate_size": 11008)")).tied_embeddings);
  EXPECT_TRUE(
      read_clean(llama_with(R"("intermediate_size": 11008, "tie_word_embeddings": true)")).tied_embeddings);
  const std::string gpt2 =
      R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024, "vocab_size": 50257)";
  EXPECT_EQ(parameter_count(read_clean(gpt2 + "}")), 124'439'808);
  EXPECT_EQ(parameter_count(read_clean(gpt2 + R"(, "tie_word_embeddings": false})")),
            124'439'808 + 50257 * 768);
}

std::string nested(const std::string& outer, const std::string& inner) {
  return R"({"model_type": "qwen3_vl", )" + outer +
         R"( "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27,
 "num_attention_heads": 16}, "text_config": {"model_type": "qwen3_vl_text", "hidden_size": 4096, "head_dim": 128,
 "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 12288)" +
         inner + R"(, "vocab_size": 151936}})";
}

TEST(HfReader, NestedTextConfigIsTheModelAndTheOuterLevelMayTie) {
  EXPECT_EQ(parameter_count(read_clean(nested(R"("tie_word_embeddings": false,)", ""))), 8'190'735'360);
  EXPECT_TRUE(read_clean(nested(R"("tie_word_embeddings": true,)", "")).tied_embeddings);
  expect_error(nested(R"("tie_word_embeddings": true,)", R"(, "tie_word_embeddings": false)"),
               "contradicts the outer one", "make them equal");
}

TEST(HfReader, OtherTowersAreNamedInAWarning) {
  const ReadModel read = read_model_text(nested("", ""));
  EXPECT_THAT(read.diagnostics.text(), HasSubstr("\"vision_config\": only the language model is counted"));
}

TEST(HfReader, LlamaDefaultsFillANestedConfigurationWithAWarningOnly) {
  const ReadModel read = read_model_text(
      R"({"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064}, "vocab_size": 32064})");
  ASSERT_FALSE(read.diagnostics.has_errors()) << read.diagnostics.text();
  EXPECT_THAT(read.diagnostics.text(), HasSubstr("warning: dimensions are missing"));
  EXPECT_EQ(parameter_count(read.architecture), 6'738'415'616 + 2 * 64 * 4096);
  expect_error(R"({"model_type": "llama", "vocab_size": 32064})",
               "\"hidden_size\" in the model configuration is required", "add \"hidden_size\"");
}

TEST(HfReader, WhatIsNoDenseDecoderIsRefusedAtTheKeyThatSaysSo) {
  const struct {
    const char* key;
    const char* value;
    const char* reason;
  } cases[] = {{"num_local_experts", "8", "mixture of experts"},
               {"n_routed_experts", "256", "mixture of experts"},
               {"moe_num_experts", "16", "mixture of experts"},
               {"num_experts_per_tok", "2", "mixture of experts"},
               {"kv_lora_rank", "512", "latent attention"},
               {"layer_types", R"(["full_attention", "linear_attention"])", "layers of different kinds"},
               {"hybrid_override_pattern", "\"M-M*\"", "layers of different kinds"},
               {"block_configs", "[{}]", "layers that differ"},
               {"num_nextn_predict_layers", "1", "multi-token prediction"},
               {"index_topk", "2048", "attention with an index"},
               {"attn_output_gate", "true", "output gate"},
               {"is_encoder_decoder", "true", "an encoder"}};
  for (const auto& c : cases)
    expect_error(llama_with(R"("intermediate_size": 11008, ")" + std::string(c.key) + "\": " + c.value),
                 "error: \"" + std::string(c.key) + "\" is not supported yet: ", c.reason);
}

TEST(HfReader, FeaturesThatAreSwitchedOffDoNotMatter) {
  const Architecture a = read_clean(llama_with(
      R"("intermediate_size": 11008, "num_experts": 0, "kv_lora_rank": null, "enable_moe_block": false,
 "layer_types": ["full_attention", "sliding_attention"], "num_nextn_predict_layers": 0, "some_adapter_dim": 0)"));
  EXPECT_EQ(parameter_count(a), 6'738'415'616);
}

TEST(HfReader, UnknownStructureIsAnErrorAndUnknownRestAWarning) {
  expect_error(llama_with(R"("intermediate_size": 11008, "num_memory_layers": 4)"),
               "\"num_memory_layers\" is not understood here, and may change the parameter count",
               "remove it");
  expect_error(llama_with(R"("intermediate_size": 11008, "num_key_value_head": 8)"),
               "\"num_key_value_head\" is not", "did you mean \"num_key_value_heads\"?");
  const ReadModel read =
      read_model_text(llama_with(R"("intermediate_size": 11008, "favourite_colour": "blue")"));
  EXPECT_FALSE(read.diagnostics.has_errors());
  EXPECT_THAT(read.diagnostics.text(), HasSubstr("warning: not used: favourite_colour"));
}

TEST(HfReader, FamiliesThatAreNotKnownAreRefused) {
  expect_error(R"({"model_type": "rwkv", "hidden_size": 64})", "the model family \"rwkv\" is not known",
               "known: gpt2, ");
  expect_error(R"({"hidden_size": 64, "num_hidden_layers": 2})", "\"model_type\" is missing", "known: ");
  const Architecture a = read_clean(R"({"architectures": ["GPT2LMHeadModel"], "n_embd": 768, "n_layer": 12,
 "n_head": 12, "n_positions": 1024, "vocab_size": 50257})");
  EXPECT_EQ(parameter_count(a), 124'439'808);
}

TEST(HfReader, FalconsDecodersDiffer) {
  const std::string old_keys =
      R"({"model_type": "RefinedWeb", "bias": false, "hidden_size": 4544, "n_head": 71,
 "n_layer": 32, "multi_query": true, "num_kv_heads": 71, "parallel_attn": true, "vocab_size": 65024})";
  EXPECT_EQ(parameter_count(read_clean(old_keys)), 6'921'720'704);
  const std::string new_decoder = R"({"model_type": "falcon", "hidden_size": 8192, "num_attention_heads": 128,
 "num_hidden_layers": 60, "new_decoder_architecture": true, "num_kv_heads": 8, "vocab_size": 65024})";
  EXPECT_EQ(parameter_count(read_clean(new_decoder)), 41'303'293'952);
}

TEST(HfReader, MptKeepsAttentionInAnObjectOfItsOwn) {
  const Architecture a = read_clean(R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32,
 "expansion_ratio": 4, "max_seq_len": 2048, "no_bias": true, "vocab_size": 50432, "learned_pos_emb": true,
 "attn_config": {"alibi": true, "attn_type": "multihead_attention", "qk_ln": false}})");
  EXPECT_EQ(parameter_count(a), 6'649'286'656);
  EXPECT_EQ(a.position, PositionKind::alibi);
  const std::string mpt =
      R"({"model_type": "mpt", "d_model": 64, "n_heads": 4, "n_layers": 2, "vocab_size": 9,
 "max_seq_len": 8, "attn_config": )";
  EXPECT_EQ(read_clean(mpt + R"({"rope": true}})").position, PositionKind::rotary);
  EXPECT_EQ(read_clean(mpt + "{}}").max_positions, 8);
  EXPECT_EQ(read_clean(mpt + R"({"attn_type": "multiquery_attention"}})").kv_heads, 1);
  expect_error(mpt + R"({"qk_ln": true}})", "\"attn_config\" is not supported", "counted exactly");
  expect_error(mpt + R"({"attn_type": "linear"}})", "\"attn_type\" in attn_config is unknown",
               "multiquery_attention");
}

TEST(HfReader, OptKeepsTwoMorePositionsAndRefusesNormsBehind) {
  const std::string opt =
      R"({"model_type": "opt", "hidden_size": 4096, "num_hidden_layers": 32, "ffn_dim": 16384,
 "num_attention_heads": 32, "max_position_embeddings": 2048, "vocab_size": 50272, "word_embed_proj_dim": )";
  EXPECT_EQ(parameter_count(read_clean(opt + "4096}")), 6'658'473'984);
  expect_error(opt + "512}", "\"word_embed_proj_dim\" is not supported", "counted exactly");
  expect_error(opt + R"(4096, "do_layer_norm_before": false})", "\"do_layer_norm_before\" is not supported",
               "counted exactly");
}

TEST(HfReader, WrongKindsAndRangesAreErrors) {
  expect_error(llama_with(R"("intermediate_size": "11008")"),
               "\"intermediate_size\" in the model configuration must be an", "from 1 to");
  expect_error(llama_with(R"("intermediate_size": -1)"), "out of range", "from 1 to");
  expect_error(llama_with(R"("intermediate_size": [1, 2])"), "found an array", "from 1 to");
  expect_error(llama_with(R"("intermediate_size": 11008, "mlp_bias": 1)"), "must be a boolean",
               "true or false");
  expect_error(llama_with(R"("intermediate_size": 11008, "hidden_act": "relu")"),
               "the activation \"relu\" is not known in this family", "silu");
  expect_error(llama_with(R"("intermediate_size": 11008, "num_key_value_heads": 5)"),
               "num_key_value_heads=5 does not divide num_attention_heads=32", "use 4 or 8");
  expect_error(
      R"({"model_type": "mpt", "d_model": 64, "n_heads": 4, "n_layers": 2, "vocab_size": 9, "max_seq_len": 8,
 "attn_config": {"attn_type": "grouped_query_attention", "kv_n_heads": 3}})",
      "m.json:2:", "use 2 or 4");
}

TEST(HfReader, NameIsTheFilesOrTheFolders) {
  const std::string text = llama_with(R"("intermediate_size": 11008)");
  EXPECT_EQ(read_model_text(text, "a/Llama-2/config.json").architecture.name, "Llama-2");
  EXPECT_EQ(read_model_text(text, "a/my-llama.json").architecture.name, "my-llama");
  EXPECT_EQ(read_model_text(llama_with(R"("intermediate_size": 11008, "_name_or_path": "org/name")"))
                .architecture.name,
            "name");
}

TEST(HfReader, WhatWasReadCanBeWrittenAsAModelFile) {
  const Architecture a = read_clean(nested("", ""));
  EXPECT_EQ(read_model_text(write_architecture(a)).architecture, a);
}

TEST(HfReader, NativeFilesAreNotTakenForOthers) {
  EXPECT_THAT(read_model_text(R"({"layers": 2, "hidden_size": 64})").diagnostics.text(),
              HasSubstr("unknown key \"hidden_size\" in the model"));
}

}  // namespace
}  // namespace orrery::models
