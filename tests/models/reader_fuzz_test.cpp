// Random mutations of good model files: whatever comes out is diagnosed, or read and survives writing and
// counting. The number of rounds is fixed, the seed too, so the test is the same everywhere.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "models/model_report.h"
#include "tests/models/read_model.h"

namespace orrery::models {
namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t n) { return static_cast<std::size_t>(random() % n); }

const std::vector<std::string>& tokens() {
  static const std::vector<std::string> words = {"null",
                                                 "true",
                                                 "false",
                                                 "0",
                                                 "-1",
                                                 "1e308",
                                                 "9223372036854775807",
                                                 "99999999999999999999",
                                                 "0.5",
                                                 "\"\"",
                                                 "[]",
                                                 "{}",
                                                 "\"learned\"",
                                                 "\"rms_norm\"",
                                                 "\"swiglu\"",
                                                 "{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 ",",
                                                 ":",
                                                 "\"",
                                                 "\\u0000",
                                                 "//",
                                                 "\"text_config\": {}, ",
                                                 "\"num_experts\": 2, ",
                                                 "\"model_type\": \"mpt\", ",
                                                 "\"attn_config\": {\"alibi\": 1}, ",
                                                 "\"head_dim\": 65536, ",
                                                 "\"heads\": 65536, "};
  return words;
}

// Replaces the digits of one number by another number: the file mostly stays well-formed.
void replace_number(std::string& text, Random& random) {
  const std::size_t start = text.find_first_of("0123456789", below(random, text.size()));
  if (start == std::string::npos) return;
  std::size_t end = text.find_first_not_of("0123456789.", start);
  if (end == std::string::npos) end = text.size();
  const auto magnitude = static_cast<int>(below(random, 14));
  const auto digits =
      static_cast<std::int64_t>(std::pow(10.0, magnitude)) + static_cast<std::int64_t>(below(random, 9));
  text.replace(start, end - start, std::to_string(digits));
}

void mutate(std::string& text, Random& random) {
  if (text.empty()) return;
  const std::size_t at = below(random, text.size());
  switch (below(random, 6)) {
    case 0:
      text[at] = static_cast<char>(below(random, 256));
      break;
    case 1:
      text.erase(at, 1 + below(random, 20));
      break;
    case 2:
      text.insert(at, tokens()[below(random, tokens().size())]);
      break;
    case 3:
      text.resize(at);
      break;
    case 4:
      text.insert(at, text.substr(below(random, text.size()), below(random, 60)));
      break;
    default:
      replace_number(text, random);
      break;
  }
}

void expect_diagnosed_or_sound(const std::string& text, std::size_t& sound) {
  const ReadModel read = read_model_text(text);
  if (read.diagnostics.has_errors()) {
    EXPECT_FALSE(read.diagnostics.text().empty());
    return;
  }
  ++sound;
  const Architecture& a = read.architecture;
  ASSERT_GT(parameter_count(a), 0) << text;
  ASSERT_EQ(report_model(a, 2048).by_kind.total(), parameter_count(a)) << text;
  const ReadModel again = read_model_text(write_architecture(a));
  ASSERT_FALSE(again.diagnostics.has_errors()) << again.diagnostics.text() << text;
  ASSERT_EQ(again.architecture, a) << text;
}

constexpr const char* hugging_face[] = {
    R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
 "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": false})",
    R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "expansion_ratio": 4, "no_bias": true,
 "max_seq_len": 2048, "vocab_size": 50432, "attn_config": {"attn_type": "grouped_query_attention", "kv_n_heads": 8}})",
    R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 1152, "head_dim": 256,
 "num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1, "intermediate_size": 6912,
 "vocab_size": 262144, "layer_types": ["full_attention"]}, "vision_config": {"hidden_size": 1152}})",
    R"({"model_type": "chatglm", "padded_vocab_size": 65024, "hidden_size": 4096, "num_layers": 28,
 "num_attention_heads": 32, "multi_query_attention": true, "multi_query_group_num": 2, "ffn_hidden_size": 13696})",
    R"({"model_type": "opt", "hidden_size": 4096, "num_hidden_layers": 32, "ffn_dim": 16384, "num_attention_heads": 32,
 "max_position_embeddings": 2048, "vocab_size": 50272, "word_embed_proj_dim": 4096})"};

TEST(ModelReaderFuzz, MutatedFilesAreDiagnosedOrSound) {
  std::vector<std::string> seeds(std::begin(hugging_face), std::end(hugging_face));
  for (const char* file : {"gpt2-124m", "llama-2-70b", "gemma-2-9b", "phi-2"})
    seeds.push_back(read_source("models/zoo/" + std::string(file) + ".json")->text);
  Random random(20'240'601);
  std::size_t sound = 0;
  constexpr std::size_t rounds = 20'000;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::string text = seeds[below(random, seeds.size())];
    const std::size_t mutations = 1 + below(random, 4);
    for (std::size_t i = 0; i < mutations; ++i) mutate(text, random);
    expect_diagnosed_or_sound(text, sound);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(sound, rounds / 100) << "the mutations hardly ever reach the checks behind the parser";
}

}  // namespace
}  // namespace orrery::models
