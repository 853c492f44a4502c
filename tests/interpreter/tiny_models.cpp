#include "tests/interpreter/tiny_models.h"

namespace orrery::interpreter {

using models::ActivationKind;
using models::Architecture;
using models::NormKind;
using models::PositionKind;

Architecture tiny_gpt() {
  Architecture a;
  a.name = "tiny-gpt";
  a.layers = 2;
  a.hidden = 16;
  a.heads = a.kv_heads = 4;
  a.head_dim = 4;
  a.ffn_hidden = 32;
  a.vocab = 32;
  a.max_positions = 8;
  return a;
}

Architecture tiny_llama() {
  Architecture a = tiny_gpt();
  a.name = "tiny-llama";
  a.kv_heads = 2;
  a.ffn_hidden = 24;
  a.max_positions = 0;
  a.position = PositionKind::rotary;
  a.norm = NormKind::rms_norm;
  a.activation = ActivationKind::swiglu;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = a.norm_bias = false;
  a.tied_embeddings = false;
  return a;
}

Architecture tiny_bloom() {
  Architecture a = tiny_gpt();
  a.name = "tiny-bloom";
  a.max_positions = 0;
  a.position = PositionKind::alibi;
  a.embedding_norm = true;
  return a;
}

Architecture tiny_falcon() {
  Architecture a = tiny_llama();
  a.name = "tiny-falcon";
  a.norm = NormKind::layer_norm;
  a.norm_bias = true;
  a.activation = ActivationKind::gelu;
  a.parallel_block = a.shared_norm = true;
  a.tied_embeddings = true;
  return a;
}

Architecture tiny_neox() {
  Architecture a = tiny_gpt();
  a.name = "tiny-neox";
  a.max_positions = 0;
  a.position = PositionKind::rotary;
  a.activation = ActivationKind::squared_relu;
  a.parallel_block = true;
  a.tied_embeddings = false;
  a.head_bias = true;
  return a;
}

Architecture tiny_gemma() {
  Architecture a = tiny_llama();
  a.name = "tiny-gemma";
  a.head_dim = 6;
  a.activation = ActivationKind::geglu;
  a.qk_norm = a.post_norms = true;
  a.tied_embeddings = true;
  return a;
}

Architecture tiny_gated_biases() {
  Architecture a = tiny_llama();
  a.name = "tiny-gated-biases";
  a.mlp_bias = a.qkv_bias = a.attention_out_bias = true;
  return a;
}

Architecture tiny_mixtral() {
  Architecture a = tiny_llama();
  a.name = "tiny-mixtral";
  a.experts = {.count = 4, .top_k = 2, .ffn_hidden = 8};
  return a;
}

Architecture tiny_deepseek() {
  Architecture a = tiny_llama();
  a.name = "tiny-deepseek";
  a.layers = 4;
  a.experts = {.count = 8,
               .top_k = 3,
               .ffn_hidden = 8,
               .shared_ffn_hidden = 16,
               .dense_layers = 1,
               .router = models::RouterKind::sigmoid,
               .correction_bias = true,
               .groups = 4,
               .top_groups = 2,
               .scale = 2.5};
  a.latent = {.kv_rank = 6, .query_rank = 5, .nope_dim = 4, .rope_dim = 2, .value_dim = 3};
  a.head_dim = 6;
  a.kv_heads = a.heads;
  return a;
}

}  // namespace orrery::interpreter
