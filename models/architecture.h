// What is trained: a decoder-only transformer, dense or with experts, as data (models/zoo/*.json, a Hugging Face
// config.json, or an inline object of a scenario). Every field is resolved: readers apply defaults, and refuse what
// contradicts itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::models {

enum class PositionKind : std::uint8_t { none, learned, rotary, alibi };
enum class NormKind : std::uint8_t { layer_norm, rms_norm };
enum class ActivationKind : std::uint8_t { gelu, relu, squared_relu, swiglu, geglu };

// How a router scores the experts of a token: softmax over all of them, or a sigmoid of each by itself (DeepSeek-V3).
enum class RouterKind : std::uint8_t { softmax, sigmoid };

// Layers whose MLP is `count` experts, of which a token passes through the `top_k` that a router scores highest (Shazeer
// et al. 2017), and through the shared ones (Dai et al. 2024, DeepSeekMoE). count = 0: a dense model.
struct Experts {
  std::int64_t count = 0;
  std::int64_t top_k = 1;
  std::int64_t ffn_hidden = 0;         // width of one expert
  std::int64_t shared_ffn_hidden = 0;  // of the shared experts together, one MLP; 0: none
  std::int64_t dense_layers = 0;       // the first layers have the dense MLP
  std::int64_t every = 1;              // of those behind them, every n-th has experts (n = 2: the second, fourth, ...)
  RouterKind router = RouterKind::softmax;
  bool router_bias = false;      // the router's projection has a bias (gpt-oss)
  bool correction_bias = false;  // added to scores for the choice only, and trained by no gradient (DeepSeek-V3)
  bool normalized = true;        // the weights of the chosen experts sum to 1 (softmax: over the chosen ones)
  bool shared_gate = false;      // the shared experts' output is gated by a sigmoid of the token (Qwen1.5-MoE)
  std::int64_t groups = 1, top_groups = 1;  // experts are chosen within the best `top_groups` of `groups` groups
  double scale = 1.0;                       // of the weights (routed_scaling_factor)
  double capacity_factor = 0.0;  // an expert takes at most this x tokens x top_k / count of a rank's; 0: dropless
  bool operator==(const Experts&) const = default;
};

// Multi-head latent attention (DeepSeek-V2, section 2.1): keys and values come from one vector of kv_rank numbers, queries
// (where query_rank > 0) from one of query_rank; a rotary part of rope_dim is joined to each head, the key's is shared by all.
struct LatentAttention {
  std::int64_t kv_rank = 0;  // 0: attention as usual
  std::int64_t query_rank = 0;
  std::int64_t nope_dim = 0, rope_dim = 0, value_dim = 0;  // of a head; head_dim = nope_dim + rope_dim
  bool operator==(const LatentAttention&) const = default;
};

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
  bool attention_sinks = false;  // a learned logit a head that takes part in the softmax (gpt-oss)
  double dropout = 0.0;         // hidden and attention dropout while training
  Experts experts;
  LatentAttention latent;
  std::int64_t prediction_layers = 0;  // multi-token prediction modules behind the model (DeepSeek-V3, section 2.2)
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

bool is_expert_layer(const Architecture& a, std::int64_t layer);
std::int64_t expert_layers(const Architecture& a);  // how many of the layers

// The kinds of unit that a model is a list of, in the order in which their flat parameter vectors hold
// them. Layer names: norm1.weight norm1.bias attention.query attention.key attention.value
// attention.query_bias attention.key_bias attention.value_bias attention.query_norm attention.key_norm
// attention.out attention.out_bias [post_norm1.*] norm2.weight norm2.bias mlp.gate mlp.up mlp.gate_bias
// mlp.up_bias mlp.down mlp.down_bias [post_norm2.*]; those that the architecture lacks are left out
// (mlp.gate_bias: gated and mlp_bias). Latent attention: attention.query_down attention.query_down_norm
// attention.query_up (or attention.query) attention.kv_down attention.kv_norm attention.kv_up attention.out. A layer with
// experts has, in the place of mlp.*, router router_bias router_correction, and mlp.* (and shared_gate) of its shared
// experts; one expert has gate up gate_bias up_bias down down_bias. Embedding: token, position, norm.weight, norm.bias.
// Head: norm.weight, norm.bias, output (absent when tied), output_bias. A prediction module: embedding_norm, hidden_norm,
// projection, the parameters of a layer, norm; embedding and head are the model's.
std::vector<Parameter> embedding_parameters(const Architecture& a, std::int64_t vocab_rows);
std::vector<Parameter> layer_parameters(const Architecture& a);         // of a dense layer
std::vector<Parameter> expert_layer_parameters(const Architecture& a);  // of a layer with experts, without these
std::vector<Parameter> expert_parameters(const Architecture& a);        // of one expert
std::vector<Parameter> prediction_parameters(const Architecture& a);    // of one prediction module, without experts
std::vector<Parameter> head_parameters(const Architecture& a, std::int64_t vocab_rows);

std::int64_t count(const std::vector<Parameter>& parameters);
// Elements of the largest unit of a layer when an expert-parallel rank holds `local_experts` of them.
std::int64_t largest_layer_unit(const Architecture& a, std::int64_t local_experts);

// All parameters of the model, with the unpadded vocabulary and without prediction modules: the number that papers print.
std::int64_t parameter_count(const Architecture& a);
// Those that one token passes through: top_k of the experts of each layer.
std::int64_t active_parameter_count(const Architecture& a);
// Those of the prediction modules.
std::int64_t prediction_parameter_count(const Architecture& a);

// Model FLOPs of one sequence of `s` tokens, forward only: matrix multiplications and attention (DESIGN:
// "model FLOPs"); x3 is a training step's. `causal` counts half of the attention square. Source: Narayanan et
// al. 2021, section 5.1, extended by GQA, gated MLPs, explicit head_dim, the top_k experts of a token and their router.
// Prediction modules are left out.
double forward_flops(const Architecture& a, std::int64_t s, std::int64_t vocab_rows, bool causal);

// The same by part, over all layers; `attention_square` (Q K^T and P V) is counted in full.
struct FlopsOfSequence {
  double projections = 0.0;  // query, key, value, attention.out, and the latent ones
  double attention_square = 0.0;
  double mlp = 0.0;  // active experts and routers too
  double head = 0.0;
};
FlopsOfSequence forward_flops_by_part(const Architecture& a, std::int64_t s, std::int64_t vocab_rows);

}  // namespace orrery::models
