// Dimensions of a Hugging Face configuration. Every spelling of a dimension is accepted for every family,
// because configurations have been renamed over the years without their model_type; two that disagree are an
// error.
#include "models/hf_dimensions.h"

#include <fmt/format.h>

#include <optional>

#include "models/dimension_checks.h"

namespace orrery::models {
namespace {

const Spellings layer_keys = {"num_hidden_layers", "n_layer", "num_layers", "n_layers"};
const Spellings hidden_keys = {"hidden_size", "n_embd", "d_model", "n_embed"};
const Spellings head_keys = {"num_attention_heads", "n_head", "n_heads", "num_heads"};
const Spellings kv_keys = {"num_key_value_heads", "n_head_kv", "num_kv_heads", "kv_n_heads"};
const Spellings head_dim_keys = {"head_dim", "kv_channels"};
const Spellings ffn_keys = {"intermediate_size", "n_inner", "ffn_dim", "d_ff", "ffn_hidden_size"};
const Spellings vocab_keys = {"vocab_size", "padded_vocab_size"};

using Fallback = std::optional<std::int64_t>;

// LlamaConfig() without arguments, which is what a nested configuration with nothing but a model_type means.
struct LlamaDefaults {
  Fallback layers = 32, hidden = 4096, heads = 32, ffn = 11008, vocab = 32000;
};
constexpr LlamaDefaults no_defaults = {std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt};

void warn_of_defaults(HfConfig& c) {
  if (c.has(layer_keys) && c.has(hidden_keys) && c.has(head_keys) && c.has(ffn_keys) && c.has(vocab_keys))
    return;
  c.diagnostics().warning(c.field(hidden_keys).place,
                          "dimensions are missing: LlamaConfig's own are taken for them",
                          "32 layers, hidden 4096, 32 heads, intermediate 11008, vocabulary 32000");
}

Fallback fallback_if(Missing rule, std::int64_t value) {
  return rule == Missing::is_default ? Fallback(value) : std::nullopt;
}

}  // namespace

void read_hf_dimensions(HfConfig& c, Architecture& a, const DimensionRules& rules) {
  const bool use_defaults = rules.llama_defaults && c.nested();
  const LlamaDefaults defaults = use_defaults ? LlamaDefaults{} : no_defaults;
  if (use_defaults) warn_of_defaults(c);
  const std::size_t errors_before = c.errors();
  a.layers = c.integer(layer_keys, defaults.layers, layers_max);
  a.hidden = c.integer(hidden_keys, defaults.hidden, hidden_max);
  a.heads = c.integer(head_keys, defaults.heads, heads_max);
  a.vocab = c.integer(vocab_keys, defaults.vocab, vocab_max);
  // An explicit null is the family's way to write "as many as query heads", "hidden / heads", "4 hidden".
  const Missing kv = c.mentions(kv_keys) ? Missing::is_default : rules.kv_heads;
  a.kv_heads = c.integer(kv_keys, fallback_if(kv, a.heads), heads_max);
  const Fallback ffn = rules.ffn == Missing::is_default ? Fallback(4 * a.hidden) : defaults.ffn;
  a.ffn_hidden = c.integer(ffn_keys, ffn, ffn_max);
  const Missing head_dim = c.mentions(head_dim_keys) ? Missing::is_default : rules.head_dim;
  a.head_dim = c.integer(head_dim_keys, fallback_if(head_dim, 1), head_dim_max);
  a.dropout = c.number({"resid_pdrop", "hidden_dropout", "residual_dropout", "dropout"},
                       c.number({"attn_pdrop", "attention_dropout"}, rules.dropout, 0.99), 0.99);
  if (c.errors() > errors_before || c.has(head_dim_keys)) return;
  a.head_dim = default_head_dim(a.hidden, a.heads, hf_dimension_fields(c), c.diagnostics());
}

DimensionFields hf_dimension_fields(const HfConfig& c) {
  const Spellings kv_of_any_family = {"num_key_value_heads", "n_head_kv",   "num_kv_heads",
                                      "kv_n_heads",          "attn_config", "multi_query_group_num"};
  return {c.field(hidden_keys), c.field(head_keys), c.field(kv_of_any_family), c.field(head_dim_keys),
          c.field({"model_type", "architectures"}).place};
}

std::int64_t read_hf_positions(HfConfig& c) {
  return c.integer({"max_position_embeddings", "n_positions"}, std::nullopt, positions_max);
}

ActivationKind read_hf_activation(HfConfig& c, MlpKind kind, const std::string& fallback) {
  const Spellings keys = {"hidden_activation", "hidden_act", "activation_function", "activation"};
  const std::string word = c.word(keys, fallback);
  const bool gate = kind == MlpKind::gated;
  if (word.starts_with("gelu") || word == "quick_gelu")
    return gate ? ActivationKind::geglu : ActivationKind::gelu;
  if (gate && (word == "silu" || word == "swish")) return ActivationKind::swiglu;
  if (!gate && word == "relu") return ActivationKind::relu;
  if (!gate && (word == "relu2" || word == "squared_relu")) return ActivationKind::squared_relu;
  const Field field = c.field(keys);
  c.diagnostics().error(
      field.place, fmt::format("the activation \"{}\" is not known in this family", word),
      gate ? "allowed: silu, swish, gelu (the MLP is gated)" : "allowed: gelu, relu, relu2");
  return gate ? ActivationKind::swiglu : ActivationKind::gelu;
}

}  // namespace orrery::models
