// Families of Hugging Face transformers whose MLPs are experts: what their code does that their config.json does not say.
// Sources: modeling_mixtral, modeling_qwen2_moe, modeling_qwen3_moe, modeling_deepseek (model repository), modeling_gpt_oss,
// and xai-org/grok-1's model.py (a port's configuration).
#include <fmt/format.h>

#include "models/dimension_checks.h"
#include "models/hf_dimensions.h"
#include "models/hf_families.h"

namespace orrery::models {
namespace {

const Spellings count_keys = {"num_local_experts", "num_experts", "n_routed_experts"};
const Spellings chosen_keys = {"num_experts_per_tok", "experts_per_token", "num_selected_experts"};

void plain_rms_decoder(HfConfig& c, Architecture& a, const DimensionRules& rules) {
  a.norm = NormKind::rms_norm;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = a.norm_bias = false;
  read_hf_dimensions(c, a, rules);
  a.position = PositionKind::rotary;
  a.activation = read_hf_activation(c, MlpKind::gated, "silu");
  a.tied_embeddings = c.tied_embeddings(false);
}

// A number that may be 0, or null where it is.
std::int64_t count_or_none(HfConfig& c, std::string_view key, std::int64_t max) {
  return static_cast<std::int64_t>(c.number({key}, 0.0, static_cast<double>(max)));
}

void read_experts(HfConfig& c, Architecture& a) {
  a.experts.count = c.integer(count_keys, std::nullopt, experts_max);
  a.experts.top_k = c.integer(chosen_keys, std::nullopt, experts_max);
  a.experts.ffn_hidden = c.integer({"moe_intermediate_size"}, a.ffn_hidden, ffn_max);
}

void check(HfConfig& c, const Architecture& a) {
  check_experts(a,
                {c.field(chosen_keys), c.field({"n_group", "num_local_experts"}), c.field({"first_k_dense_replace"}),
                 c.field({"shared_expert_intermediate_size"})},
                c.diagnostics());
}

// Qwen: a layer has experts where its number, counted from 1, is a multiple of decoder_sparse_step.
void read_qwen_experts(HfConfig& c, Architecture& a, bool normalized) {
  read_experts(c, a);
  a.experts.every = c.integer({"decoder_sparse_step"}, 1, layers_max);
  a.experts.normalized = c.flag("norm_topk_prob", normalized);
  c.require_empty("mlp_only_layers", "dense layers at places of their own");
}

}  // namespace

void read_mixtral(HfConfig& c, Architecture& a) {
  plain_rms_decoder(c, a, {.kv_heads = Missing::is_error});
  read_experts(c, a);
  check(c, a);
}

void read_qwen2_moe(HfConfig& c, Architecture& a) {
  plain_rms_decoder(c, a, {.kv_heads = Missing::is_error});
  a.qkv_bias = true;
  read_qwen_experts(c, a, false);
  a.experts.shared_ffn_hidden = c.integer({"shared_expert_intermediate_size"}, std::nullopt, ffn_max);
  a.experts.shared_gate = true;
  check(c, a);
}

void read_qwen3_moe(HfConfig& c, Architecture& a) {
  plain_rms_decoder(c, a, {.kv_heads = Missing::is_error, .head_dim = Missing::is_error});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.qk_norm = true;
  read_qwen_experts(c, a, false);
  check(c, a);
}

void read_deepseek(HfConfig& c, Architecture& a) {
  plain_rms_decoder(c, a, {});
  c.require_false("attention_bias", "biases of the low-rank projections");
  LatentAttention& l = a.latent;
  l.kv_rank = c.integer({"kv_lora_rank"}, std::nullopt, hidden_max);
  l.query_rank = count_or_none(c, "q_lora_rank", hidden_max);
  l.nope_dim = c.integer({"qk_nope_head_dim"}, std::nullopt, head_dim_max);
  l.rope_dim = c.integer({"qk_rope_head_dim"}, std::nullopt, head_dim_max);
  l.value_dim = c.integer({"v_head_dim"}, std::nullopt, head_dim_max);
  a.head_dim = l.nope_dim + l.rope_dim;
  a.kv_heads = a.heads;
  Experts& e = a.experts;
  read_experts(c, a);
  e.shared_ffn_hidden = count_or_none(c, "n_shared_experts", experts_max) * e.ffn_hidden;
  e.dense_layers = count_or_none(c, "first_k_dense_replace", layers_max);
  if (c.integer({"moe_layer_freq"}, 1, layers_max) != 1) c.refuse("moe_layer_freq", "experts in some layers only");
  const std::string scoring = c.word({"scoring_func"}, "softmax"), method = c.word({"topk_method"}, "greedy");
  e.router = scoring == "sigmoid" ? RouterKind::sigmoid : RouterKind::softmax;
  e.correction_bias = method == "noaux_tc";
  if (method != "greedy") {  // chosen within groups
    e.groups = c.integer({"n_group"}, 1, experts_max);
    e.top_groups = c.integer({"topk_group"}, e.groups, experts_max);
  } else {
    e.groups = e.top_groups = 1;
    c.integer({"n_group"}, 1, experts_max);
    c.integer({"topk_group"}, 1, experts_max);
  }
  e.normalized = c.flag("norm_topk_prob", false);
  e.scale = c.number({"routed_scaling_factor"}, 1.0, 1e6);
  a.prediction_layers = count_or_none(c, "num_nextn_predict_layers", layers_max);
  check(c, a);
}

// Softmax over the chosen experts, biases everywhere, and a learned sink a head.
void read_gpt_oss(HfConfig& c, Architecture& a) {
  plain_rms_decoder(c, a, {.kv_heads = Missing::is_error, .head_dim = Missing::is_error});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", true);
  a.mlp_bias = true;
  a.attention_sinks = true;
  read_experts(c, a);
  a.experts.router_bias = true;
  check(c, a);
}

// Four norms a layer, a gated MLP of gelu; intermediate_size is the width of one expert.
void read_grok(HfConfig& c, Architecture& a) {
  plain_rms_decoder(c, a, {.kv_heads = Missing::is_error});
  a.activation = ActivationKind::geglu;
  a.post_norms = true;
  a.tied_embeddings = c.tied_embeddings(true);
  read_experts(c, a);
  check(c, a);
}

}  // namespace orrery::models
