// The arithmetic of an architecture against counts by hand and against the published FLOPs formula.
#include "models/architecture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"

namespace orrery::models {
namespace {

Architecture small_gpt() {
  Architecture a;
  a.layers = 2, a.hidden = 8, a.heads = 4, a.kv_heads = 4, a.head_dim = 2;
  a.ffn_hidden = 32, a.vocab = 10, a.max_positions = 6;
  return a;
}

Architecture small_llama() {
  Architecture a = small_gpt();
  a.kv_heads = 2, a.max_positions = 0;
  a.position = PositionKind::rotary, a.norm = NormKind::rms_norm, a.activation = ActivationKind::swiglu;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = a.norm_bias = a.tied_embeddings = false;
  return a;
}

std::vector<std::string> names(const std::vector<Parameter>& parameters) {
  std::vector<std::string> result;
  for (const Parameter& p : parameters) result.push_back(p.name);
  return result;
}

const Parameter& named(const std::vector<Parameter>& parameters, const std::string& name) {
  const auto it =
      std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == name; });
  CHECK(it != parameters.end(), name);
  return *it;
}

TEST(Architecture, GptLayerHoldsTheDocumentedTensorsInOrder) {
  const std::vector<std::string> expected = {
      "norm1.weight",    "norm1.bias",           "attention.query",    "attention.key",
      "attention.value", "attention.query_bias", "attention.key_bias", "attention.value_bias",
      "attention.out",   "attention.out_bias",   "norm2.weight",       "norm2.bias",
      "mlp.up",          "mlp.up_bias",          "mlp.down",           "mlp.down_bias"};
  EXPECT_EQ(names(layer_parameters(small_gpt())), expected);
}

TEST(Architecture, EveryOptionalTensorHasItsPlace) {
  Architecture a = small_llama();
  a.mlp_bias = a.qk_norm = a.post_norms = true;
  const std::vector<std::string> expected = {
      "norm1.weight",         "attention.query",    "attention.key", "attention.value",
      "attention.query_norm", "attention.key_norm", "attention.out", "post_norm1.weight",
      "norm2.weight",         "mlp.gate",           "mlp.up",        "mlp.gate_bias",
      "mlp.up_bias",          "mlp.down",           "mlp.down_bias", "post_norm2.weight"};
  EXPECT_EQ(names(layer_parameters(a)), expected);
  a.parallel_block = a.shared_norm = true;
  a.post_norms = false;
  const std::vector<std::string> shared = names(layer_parameters(a));
  EXPECT_EQ(std::count(shared.begin(), shared.end(), "norm2.weight"), 0);
}

TEST(Architecture, EmbeddingAndHeadFollowTheOptions) {
  Architecture a = small_gpt();
  EXPECT_EQ(names(embedding_parameters(a, 10)), (std::vector<std::string>{"token", "position"}));
  EXPECT_EQ(names(head_parameters(a, 10)), (std::vector<std::string>{"norm.weight", "norm.bias"}));
  a.position = PositionKind::alibi;
  a.embedding_norm = a.head_bias = true;
  a.tied_embeddings = false;
  EXPECT_EQ(names(embedding_parameters(a, 10)),
            (std::vector<std::string>{"token", "norm.weight", "norm.bias"}));
  EXPECT_EQ(names(head_parameters(a, 10)),
            (std::vector<std::string>{"norm.weight", "norm.bias", "output", "output_bias"}));
}

// h = 8, f = 32: attention 4 (64 + 8), MLP 2 x 256 + 40, norms 32.
TEST(Architecture, CountsOfASmallGptByHand) {
  const Architecture a = small_gpt();
  EXPECT_EQ(count(layer_parameters(a)), 4 * 72 + 552 + 32);
  EXPECT_EQ(parameter_count(a), 10 * 8 + 6 * 8 + 2 * 872 + 16);
}

TEST(Architecture, ShapesAreOutputsByInputs) {
  const std::vector<Parameter> layer = layer_parameters(small_llama());
  EXPECT_EQ(named(layer, "attention.key").rows, 4);
  EXPECT_EQ(named(layer, "attention.key").columns, 8);
  EXPECT_EQ(named(layer, "mlp.down").rows, 8);
  EXPECT_EQ(named(layer, "mlp.down").columns, 32);
}

TEST(Architecture, BiasesAndNormsAreNotDecayedAndStartPlain) {
  for (const Parameter& p : layer_parameters(small_gpt())) {
    EXPECT_EQ(p.decayed, p.columns > 1) << p.name;
    const bool is_bias = p.name.ends_with("bias");
    EXPECT_EQ(p.initial == Initial::zeros, is_bias) << p.name;
    EXPECT_EQ(p.initial == Initial::ones, p.columns == 1 && !is_bias) << p.name;
    EXPECT_EQ(p.initial == Initial::normal_scaled, p.name == "attention.out" || p.name == "mlp.down")
        << p.name;
  }
}

std::int64_t sharded_count(const std::vector<Parameter>& parameters) {
  std::int64_t total = 0;
  for (const Parameter& p : parameters) total += p.sharding == Sharding::replicated ? 0 : p.count();
  return total;
}

// Column-parallel weights and their biases are cut, row-parallel weights too, the rest is on every rank.
TEST(Architecture, ShardedPartsByHand) {
  const std::vector<Parameter> layer = layer_parameters(small_gpt());
  const std::int64_t cut = 4 * 64 + 2 * 256 + 3 * 8 + 32;  // matrices; biases of query, key, value, up
  const std::int64_t whole = 8 + 8 + 32;                   // biases of out and down; norms
  EXPECT_EQ(count(layer), cut + whole);
  EXPECT_EQ(sharded_count(layer), cut);
  EXPECT_EQ(sharded_count(embedding_parameters(small_gpt(), 16)), 16 * 8);
  EXPECT_EQ(count(embedding_parameters(small_gpt(), 16)), 16 * 8 + 6 * 8);
  EXPECT_EQ(sharded_count(head_parameters(small_llama(), 16)), 16 * 8);
  EXPECT_EQ(count(head_parameters(small_llama(), 16)), 16 * 8 + 8);
}

TEST(Architecture, VocabularyIsPaddedUpToTheMultiple) {
  EXPECT_EQ(padded_vocab(50'257, 128, 1), 50'304);
  EXPECT_EQ(padded_vocab(50'257, 128, 8), 51'200);
  EXPECT_EQ(padded_vocab(51'200, 128, 8), 51'200);
  EXPECT_EQ(padded_vocab(50'257, 1, 1), 50'257);
  EXPECT_EQ(padded_vocab(50'257, 1, 2), 50'258);
}

// Narayanan et al. 2021, section 5.1: 96 B s l h^2 (1 + s / 6h + V / 16lh) counts four forwards of the layers
// and, as logits are not recomputed, three of the head; a forward is 24 s l h^2 (1 + s / 6h) + 2 s h V.
TEST(Architecture, ForwardFlopsAreThePublishedFormula) {
  Architecture a;
  a.layers = 96, a.hidden = 12288, a.heads = 96, a.kv_heads = 96, a.head_dim = 128;
  a.ffn_hidden = 4 * 12288, a.vocab = 51200;
  const double s = 2048, l = 96, h = 12288, v = 51200;
  const double layers = 24.0 * s * l * h * h * (1.0 + s / (6.0 * h));
  const double head = 2.0 * s * h * v;
  EXPECT_DOUBLE_EQ(forward_flops(a, 2048, 51200, false), layers + head);
  EXPECT_NEAR((4.0 * layers + 3.0 * head) / (96.0 * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h))),
              1.0, 1e-12);
}

TEST(Architecture, CausalCountsHalfOfTheSquareOnly) {
  const Architecture a = small_gpt();
  const double square = 2.0 * 4.0 * 6.0 * 6.0 * 8.0;  // layers x (Q K^T and P V) x s^2 x width
  EXPECT_DOUBLE_EQ(forward_flops(a, 6, 10, false) - forward_flops(a, 6, 10, true), 0.5 * square);
}

// Per token and layer: query and out 2 x 64, key and value 2 x 32, three MLP matrices of 256.
TEST(Architecture, FlopsOfGroupedQueriesAndAGateByHand) {
  const FlopsOfSequence f = forward_flops_by_part(small_llama(), 3, 10);
  EXPECT_DOUBLE_EQ(f.projections, 2 * 3 * 2 * (128 + 64));
  EXPECT_DOUBLE_EQ(f.mlp, 2 * 3 * 2 * 3 * 256);
  EXPECT_DOUBLE_EQ(f.head, 3 * 2 * 80);
  EXPECT_DOUBLE_EQ(f.attention_square, 2 * 4 * 9 * 8);
}

TEST(Architecture, ExplicitHeadSizeWidensAttentionOnly) {
  Architecture a = small_llama();
  const FlopsOfSequence before = forward_flops_by_part(a, 3, 10);
  a.head_dim = 4;
  const FlopsOfSequence after = forward_flops_by_part(a, 3, 10);
  EXPECT_DOUBLE_EQ(after.projections, 2 * before.projections);
  EXPECT_DOUBLE_EQ(after.attention_square, 2 * before.attention_square);
  EXPECT_DOUBLE_EQ(after.mlp, before.mlp);
}

}  // namespace
}  // namespace orrery::models
