// Tables of keys. Sources: the configuration classes of Hugging Face transformers (PretrainedConfig and the
// model families), and config.json files as published. A key that is missing here is judged by the words in
// its name.
#include "models/hf_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace orrery::models {
namespace {

constexpr std::string_view harmless_prefixes[] = {
    "_", "rope_", "rotary_", "summary_", "transformers", "quantization", "initializer", "problem_"};

constexpr std::string_view harmless_parts[] = {"token_id", "token_index", "dropout",        "pdrop",
                                               "_eps",     "softcap",     "sliding_window", "init_std"};

constexpr std::string_view harmless_keys[] = {
    // every configuration
    "architectures", "model_type", "auto_map", "torch_dtype", "dtype", "use_cache", "id2label", "label2id",
    "pretraining_tp", "return_dict", "is_decoder", "task_specific_params", "torchscript", "use_bfloat16",
    "chunk_size_feed_forward", "tie_encoder_decoder", "tokenizer_class", "prefix", "layer_norm_epsilon",
    "layernorm_epsilon", "epsilon", "norm_epsilon",
    // generation
    "max_length", "min_length", "num_beams", "num_beam_groups", "num_return_sequences", "temperature",
    "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty", "diversity_penalty",
    "no_repeat_ngram_size", "do_sample", "early_stopping", "cache_implementation", "output_attentions",
    "output_hidden_states", "output_router_logits", "output_scores",
    // positions that have no table
    "max_position_embeddings", "n_positions", "n_ctx", "seq_length", "max_seq_len", "model_max_length",
    "original_max_position_embeddings", "initial_context_length", "partial_rotary_factor", "original_rope",
    "interpolate_factor", "runner_max_sequence_length", "context_window_size", "prefill_chunk_size",
    "attention_sink_size", "mrope_section",
    // how attention is computed
    "max_window_layers", "layer_types", "sliding_window_pattern", "full_attn_mod", "query_pre_attn_scalar",
    "clip_qkv", "attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "scale_attn_weights",
    "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "apply_query_key_layer_scaling",
    "masked_softmax_fusion", "flash_attn", "flash_rotary", "use_flash_attn", "use_bidirectional_attention",
    "use_flash_attention", "attn_implementation", "attn_impl", "inference_runner", "validate_runner_input",
    "pre_allocate_kv_cache",
    // how the rest is computed
    "skip_bias_add", "skip_bias_add_qkv", "bias_dropout_fusion", "slow_but_exact", "gradient_checkpointing",
    "embedding_fraction", "rotary", "use_mrope", "fused_dense", "offset_alibi", "fp32_residual_connection",
    "residual_in_fp32", "apply_residual_connection_post_layernorm", "logit_scale", "logits_scaling",
    "embedding_multiplier", "residual_multiplier", "attention_multiplier", "n_special",
    "predict_special_tokens", "norm_type", "num_labels",
    // training of experts
    "router_aux_loss_coef", "aux_loss_alpha", "seq_aux", "ep_size", "pretraining_ep", "router_jitter_noise",
    "output_router_logits", "swiglu_limit",
    // other towers, which the reader warns of
    "img_processor", "embd_layer", "vision_config", "audio_config"};

constexpr std::string_view structural_parts[] = {
    "expert",    "moe",   "layer", "head",     "dim",    "hidden",  "size",  "rank", "bias",
    "norm",      "embed", "embd",  "ffn",      "mlp",    "ssm",     "mamba", "conv", "attn",
    "attention", "num_",  "block", "depth",    "width",  "mult",    "tie_",  "proj", "adapter",
    "lora",      "inner", "vocab", "compress", "router", "parallel"};

enum class When { given, positive, yes };  // not null; a number above 0; true

struct Unsupported {
  std::string_view key;
  When when;
  std::string_view reason;
};

constexpr std::string_view experts = "a mixture of experts";
constexpr std::string_view latent = "latent attention (MLA), whose keys and values have weights of low rank";
constexpr std::string_view hybrid =
    "layers of different kinds (attention beside state space or linear attention)";
constexpr std::string_view individual = "layers that differ in their dimensions";
constexpr std::string_view prediction = "extra layers for multi-token prediction";
constexpr std::string_view sparse = "attention with an index or compression of its own weights";
constexpr std::string_view gate = "an output gate in the attention";
constexpr std::string_view encoder = "an encoder or cross-attention beside the decoder";
constexpr std::string_view streams = "several residual streams";

constexpr Unsupported unsupported[] = {{"num_local_experts", When::positive, experts},
                                       {"num_experts", When::positive, experts},
                                       {"n_routed_experts", When::positive, experts},
                                       {"moe_num_experts", When::positive, experts},
                                       {"n_experts", When::positive, experts},
                                       {"num_experts_per_tok", When::positive, experts},
                                       {"num_experts_per_token", When::positive, experts},
                                       {"experts_per_token", When::positive, experts},
                                       {"moe_top_k", When::positive, experts},
                                       {"moe_intermediate_size", When::positive, experts},
                                       {"enable_moe_block", When::yes, experts},
                                       {"kv_lora_rank", When::positive, latent},
                                       {"q_lora_rank", When::positive, latent},
                                       {"hybrid_override_pattern", When::given, hybrid},
                                       {"hybrid_layer_pattern", When::given, hybrid},
                                       {"layers_block_type", When::given, hybrid},
                                       {"attn_layer_period", When::positive, hybrid},
                                       {"full_attention_interval", When::positive, hybrid},
                                       {"linear_num_key_heads", When::positive, hybrid},
                                       {"linear_attn_config", When::given, hybrid},
                                       {"mamba_num_heads", When::positive, hybrid},
                                       {"mamba_d_state", When::positive, hybrid},
                                       {"ssm_state_size", When::positive, hybrid},
                                       {"state_size", When::positive, hybrid},
                                       {"ssm_cfg", When::given, hybrid},
                                       {"block_configs", When::given, individual},
                                       {"num_kv_shared_layers", When::positive, individual},
                                       {"hidden_size_per_layer_input", When::positive, individual},
                                       {"num_global_key_value_heads", When::positive, individual},
                                       {"global_head_dim", When::positive, individual},
                                       {"attention_k_eq_v", When::yes, individual},
                                       {"num_nextn_predict_layers", When::positive, prediction},
                                       {"mtp_num_hidden_layers", When::positive, prediction},
                                       {"num_mtp_modules", When::positive, prediction},
                                       {"mtp_transformer_layers", When::positive, prediction},
                                       {"index_topk", When::positive, sparse},
                                       {"compress_ratios", When::given, sparse},
                                       {"attn_output_gate", When::yes, gate},
                                       {"is_encoder_decoder", When::yes, encoder},
                                       {"add_cross_attention", When::yes, encoder},
                                       {"hc_mult", When::positive, streams}};

bool applies(const Json& value, When when) {
  switch (when) {
    case When::given:
      return !value.is_null();
    case When::positive:  // lists count too: one number a layer
      return (value.is_number() && value.number > 0.0) || (value.is_array() && !value.items.empty());
    case When::yes:
      return value.kind == Json::Kind::boolean && value.boolean;
  }
  return false;
}

// "layer_types" names the kind of attention of each layer; windows change no weight, other kinds do.
bool only_plain_attention(const Json& types) {
  const auto plain = [](const Json& type) {
    return type.is_string() && (type.string == "full_attention" || type.string == "sliding_attention" ||
                                type.string == "chunked_attention" || type.string == "attention");
  };
  return types.is_array() && std::all_of(types.items.begin(), types.items.end(), plain);
}

class Refusals {
 public:
  Refusals(const HfParts& known, Diagnostics& diagnostics) : known_(known), diagnostics_(diagnostics) {}
  // The first key of the table that applies speaks for its reason: the table names the most telling ones
  // first.
  void check(const Json& config) {
    for (const JsonMember& member : config.members) {
      const bool types = member.key == "layer_types" && !member.value.is_null();
      if (types && !only_plain_attention(member.value)) report(member, hybrid);
    }
    for (const Unsupported& u : unsupported)
      for (const JsonMember& member : config.members)
        if (member.key == u.key && applies(member.value, u.when)) report(member, u.reason);
  }
  bool none() const { return reported_.empty(); }

 private:
  void report(const JsonMember& member, std::string_view reason) {
    if (std::find(reported_.begin(), reported_.end(), reason) != reported_.end()) return;
    if (known_.experts && reason == experts) return;
    if (known_.latent && (reason == latent || reason == prediction)) return;
    reported_.push_back(reason);
    diagnostics_.error(member.key_place, fmt::format("\"{}\" is not supported yet: {}", member.key, reason),
                       "only what the family's code is known to do can be counted exactly");
  }
  const HfParts known_;
  Diagnostics& diagnostics_;
  std::vector<std::string_view> reported_;
};

template <typename Array>
bool has_part(const Array& parts, std::string_view key) {
  return std::any_of(std::begin(parts), std::end(parts),
                     [&](std::string_view part) { return key.find(part) != std::string_view::npos; });
}

}  // namespace

bool is_harmless_key(std::string_view key) {
  const auto begins = [&](std::string_view prefix) { return key.starts_with(prefix); };
  return std::any_of(std::begin(harmless_prefixes), std::end(harmless_prefixes), begins) ||
         has_part(harmless_parts, key) ||
         std::find(std::begin(harmless_keys), std::end(harmless_keys), key) != std::end(harmless_keys);
}

bool may_change_parameters(std::string_view key) {
  return key.starts_with("n_") || key.starts_with("d_") || has_part(structural_parts, key);
}

bool refuse_unsupported(const Json& config, const HfParts& known, Diagnostics& diagnostics) {
  Refusals refusals(known, diagnostics);
  refusals.check(config);
  for (const char* part : {"ffn_config", "attn_config"})  // MPT and DBRX keep some keys there
    if (const Json* inner = config.find(part)) refusals.check(*inner);
  return refusals.none();
}

}  // namespace orrery::models
