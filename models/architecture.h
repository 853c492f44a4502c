// What is trained: a decoder-only dense transformer, as data (models/zoo/*.json, a Hugging Face config.json,
// or an inline object of a scenario). Every field is resolved: readers apply defaults, and refuse what
// contradicts itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::models {

enum class PositionKind : std::uint8_t { none, learned, rotary, alibi };
enum class NormKind : std::uint8_t { layer_norm, rms_norm };
enum class ActivationKind : std::uint8_t { gelu, relu, squared_relu, swiglu, geglu };

struct Architecture {
  std::string name;
  std::string source;  // where the numbers come from
  std::int64_t layers = 0;
  std::int64_t hidden = 0;         // h
  std::int64_t heads = 0;          // query heads
  std::int64_t kv_heads = 0;       // = heads: MHA; 1: MQA; between: GQA
  std::int64_t head_dim = 0;       // explicit; hidden / heads where the file does not say
  std::int64_t ffn_hidden = 0;     // f
  std::int64_t vocab = 0;          // as the tokenizer has it, before padding
  std::int64_t max_positions = 0;  // rows of the learned position table; 0 for the other kinds
  PositionKind position = PositionKind::learned;
  NormKind norm = NormKind::layer_norm;
  ActivationKind activation = ActivationKind::gelu;
  bool qkv_bias = true;
  bool attention_out_bias = true;
  bool mlp_bias = true;
  bool norm_bias = true;        // LayerNorm's beta; RMSNorm has none
  bool head_bias = false;       // bias of the output projection (GPT-J, Phi-2)
  bool embedding_norm = false;  // a norm behind the embedding (BLOOM)
  bool qk_norm = false;         // an RMSNorm of head_dim weights on q and on k (Qwen3)
  bool post_norms = false;      // two more norms a layer, behind attention and behind the MLP (Gemma-2)
  bool tied_embeddings = true;  // output projection = token embedding
  bool parallel_block = false;  // x + attention(norm(x)) + mlp(norm'(x)) (GPT-J, GPT-NeoX, Falcon)
  bool shared_norm = false;     // with parallel_block: one norm feeds both (GPT-J, Falcon-7B)
  double dropout = 0.0;         // hidden and attention dropout while training
  bool operator==(const Architecture&) const = default;
};

constexpr bool gated(ActivationKind activation) {
  return activation == ActivationKind::swiglu || activation == ActivationKind::geglu;
}

// How a weight is cut over the tensor-parallel group.
enum class Sharding : std::uint8_t { replicated, rows, columns };

// How a weight is initialised (by global index, so that every plan starts from the same model).
enum class Initial : std::uint8_t { zeros, ones, normal, normal_scaled };  // scaled: std / sqrt(2 layers)

// One weight tensor, [rows x columns], row-major; a vector has columns = 1. A linear layer y = x W^T has
// rows = outputs, columns = inputs.
struct Parameter {
  std::string name;  // "attention.query", "mlp.down", ...
  std::int64_t rows = 0;
  std::int64_t columns = 1;
  Sharding sharding = Sharding::replicated;
  Initial initial = Initial::normal;
  bool decayed = true;  // weight decay applies (matrices: yes; biases and norms: no)
  std::int64_t count() const { return rows * columns; }
  bool operator==(const Parameter&) const = default;
};

// The vocabulary as trained: padded to a multiple of `divisible_by` x tp (Megatron: 128; 1: none).
std::int64_t padded_vocab(std::int64_t vocab, std::int64_t divisible_by, std::int64_t tp);

// The three kinds of unit that a model is a list of, in the order in which their flat parameter vectors hold
// them. Layer names: norm1.weight norm1.bias attention.query attention.key attention.value
// attention.query_bias attention.key_bias attention.value_bias attention.query_norm attention.key_norm
// attention.out attention.out_bias [post_norm1.*] norm2.weight norm2.bias mlp.gate mlp.up mlp.gate_bias
// mlp.up_bias mlp.down mlp.down_bias [post_norm2.*]; those that the architecture lacks are left out
// (mlp.gate_bias: gated and mlp_bias). Embedding: token, position, norm.weight, norm.bias. Head: norm.weight,
// norm.bias, output (absent when tied), output_bias.
std::vector<Parameter> embedding_parameters(const Architecture& a, std::int64_t vocab_rows);
std::vector<Parameter> layer_parameters(const Architecture& a);
std::vector<Parameter> head_parameters(const Architecture& a, std::int64_t vocab_rows);

std::int64_t count(const std::vector<Parameter>& parameters);

// All parameters of the model, with the unpadded vocabulary: the number that papers print.
std::int64_t parameter_count(const Architecture& a);

// Model FLOPs of one sequence of `s` tokens, forward only: matrix multiplications and attention (DESIGN:
// "model FLOPs"); x3 is a training step's. `causal` counts half of the attention square. Source: Narayanan et
// al. 2021, section 5.1, extended by GQA, gated MLPs and explicit head_dim.
double forward_flops(const Architecture& a, std::int64_t s, std::int64_t vocab_rows, bool causal);

// The same by part, over all layers; `attention_square` (Q K^T and P V) is counted in full.
struct FlopsOfSequence {
  double projections = 0.0;  // query, key, value, attention.out
  double attention_square = 0.0;
  double mlp = 0.0;
  double head = 0.0;
};
FlopsOfSequence forward_flops_by_part(const Architecture& a, std::int64_t s, std::int64_t vocab_rows);

}  // namespace orrery::models
