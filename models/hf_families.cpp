// One function a family, in the order of the table at the end. Each says only what differs; sources are the
// modeling and configuration files of Hugging Face transformers (and of the model repositories for MPT and
// ChatGLM). To add a family: copy the nearest function, change what its code does differently, add it to the
// table, test its published count.
#include "models/hf_families.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "models/dimension_checks.h"
#include "models/hf_dimensions.h"

namespace orrery::models {
namespace {

void set_all_biases(Architecture& a, bool linear, bool norm) {
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = linear;
  a.norm_bias = norm;
}

void set_rms_norm_without_biases(Architecture& a) {
  a.norm = NormKind::rms_norm;
  set_all_biases(a, false, false);
}

void gpt2(HfConfig& c, Architecture& a) {
  read_hf_dimensions(c, a, {.ffn = Missing::is_default, .dropout = 0.1});
  a.max_positions = read_hf_positions(c);
  a.activation = read_hf_activation(c, MlpKind::plain, "gelu_new");
  a.tied_embeddings = c.tied_embeddings(true);
}

void gpt_bigcode(HfConfig& c, Architecture& a) {
  gpt2(c, a);
  if (c.flag("multi_query", true)) a.kv_heads = 1;
}

void opt(HfConfig& c, Architecture& a) {
  read_hf_dimensions(c, a, {.dropout = 0.1});
  constexpr std::int64_t position_offset = 2;  // OPTLearnedPositionalEmbedding keeps two rows for padding
  a.max_positions = read_hf_positions(c) + position_offset;
  a.activation = read_hf_activation(c, MlpKind::plain, "relu");
  set_all_biases(a, c.flag("enable_bias", true), true);
  a.tied_embeddings = c.tied_embeddings(true);
  c.require_false("_remove_final_layer_norm", "a model without a last norm");
  if (!c.flag("do_layer_norm_before", true)) c.refuse("do_layer_norm_before", "norms behind the sublayers");
  if (!c.flag("layer_norm_elementwise_affine", true))
    c.refuse("layer_norm_elementwise_affine", "norms without weights");
  if (c.integer({"word_embed_proj_dim"}, a.hidden, hidden_max) != a.hidden)
    c.refuse("word_embed_proj_dim", "an embedding of another width than the layers");
}

void bloom(HfConfig& c, Architecture& a) {
  read_hf_dimensions(c, a, {.ffn = Missing::is_default});
  a.position = PositionKind::alibi;
  a.embedding_norm = true;
  a.tied_embeddings = c.tied_embeddings(true);
}

void gpt_neox(HfConfig& c, Architecture& a) {
  read_hf_dimensions(c, a, {});
  a.position = PositionKind::rotary;
  a.activation = read_hf_activation(c, MlpKind::plain, "gelu");
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", true);
  a.parallel_block = c.flag("use_parallel_residual", true);
  a.tied_embeddings = c.tied_embeddings(false);
}

void gptj(HfConfig& c, Architecture& a) {
  read_hf_dimensions(c, a, {.ffn = Missing::is_default});
  a.position = PositionKind::rotary;
  a.activation = read_hf_activation(c, MlpKind::plain, "gelu_new");
  a.qkv_bias = a.attention_out_bias = false;
  a.parallel_block = a.shared_norm = true;
  a.tied_embeddings = c.tied_embeddings(false);
  a.head_bias = true;
}

void phi(HfConfig& c, Architecture& a) {
  read_hf_dimensions(c, a, {.ffn = Missing::is_default});
  a.position = PositionKind::rotary;
  a.activation = read_hf_activation(c, MlpKind::plain, "gelu_new");
  a.parallel_block = a.shared_norm = true;
  a.tied_embeddings = c.tied_embeddings(false);
  a.head_bias = true;
  c.require_false("qk_layernorm", "a LayerNorm with bias on queries and keys");
}

void falcon(HfConfig& c, Architecture& a) {
  read_hf_dimensions(c, a, {.ffn = Missing::is_default});
  const bool new_decoder = c.flag("new_decoder_architecture", false);
  const bool multi_query = c.flag("multi_query", true);
  if (!new_decoder) a.kv_heads = multi_query ? 1 : a.heads;  // num_kv_heads is only read by the new decoder
  a.position = c.flag("alibi", false) ? PositionKind::alibi : PositionKind::rotary;
  a.activation = read_hf_activation(c, MlpKind::plain, "gelu");
  set_all_biases(a, c.flag("bias", false), true);
  const bool parallel = c.flag("parallel_attn", true);
  a.parallel_block = parallel || new_decoder;
  const std::int64_t norms = c.integer({"num_ln_in_parallel_attn"}, new_decoder ? 2 : 1, 2);
  a.shared_norm = a.parallel_block && norms == 1;
  a.tied_embeddings = c.tied_embeddings(true);
}

// MPT keeps what concerns attention in an object of its own.
void mpt_attention(HfConfig& c, const Json& attention, Architecture& a) {
  ObjectReader r(attention, c.diagnostics(), "attn_config");
  if (r.boolean("rope", false)) a.position = PositionKind::rotary;
  if (r.boolean("alibi", false)) a.position = PositionKind::alibi;
  enum class Type : std::uint8_t { multihead, multiquery, grouped };
  const Type type = r.choice<Type>("attn_type", Type::multihead,
                                   {{"multihead_attention", Type::multihead},
                                    {"multiquery_attention", Type::multiquery},
                                    {"grouped_query_attention", Type::grouped}});
  if (type == Type::multiquery) a.kv_heads = 1;
  if (type == Type::grouped) a.kv_heads = r.integer("kv_n_heads", {std::nullopt, 1, a.heads});
  for (const char* key : {"qk_ln", "qk_gn"})
    if (r.boolean(key, false)) c.refuse("attn_config", fmt::format("a norm of queries and keys ({})", key));
}

void mpt(HfConfig& c, Architecture& a) {
  read_hf_dimensions(c, a, {.ffn = Missing::is_default});
  if (c.has({"expansion_ratio"})) {
    const std::int64_t wide = c.integer({"expansion_ratio"}, 4, 64) * a.hidden;
    const bool given_too = a.ffn_hidden != 4 * a.hidden;
    if (given_too && a.ffn_hidden != wide)
      c.refuse("expansion_ratio", "another width of the MLP is given too");
    a.ffn_hidden = wide;
  }
  set_all_biases(a, !c.flag("no_bias", true), true);
  a.norm_bias = a.qkv_bias;  // no_bias takes the norms' too
  if (c.word({"norm_type"}, "").ends_with("rmsnorm")) a.norm = NormKind::rms_norm, a.norm_bias = false;
  a.tied_embeddings = c.tied_embeddings(true);
  const bool learned = c.flag("learned_pos_emb", true);
  if (const Json* attention = c.object("attn_config")) mpt_attention(c, *attention, a);
  if (a.position == PositionKind::learned && !learned) a.position = PositionKind::none;
  if (a.position == PositionKind::learned)
    a.max_positions = c.integer({"max_seq_len"}, std::nullopt, positions_max);
}

void llama(HfConfig& c, Architecture& a) {
  set_rms_norm_without_biases(a);
  read_hf_dimensions(c, a, {.llama_defaults = true});
  a.position = PositionKind::rotary;
  a.activation = read_hf_activation(c, MlpKind::gated, "silu");
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
  a.tied_embeddings = c.tied_embeddings(false);
}

// RMSNorm, rotary, gated, no biases: what most families after Llama share.
void llama_like(HfConfig& c, Architecture& a, const DimensionRules& rules) {
  set_rms_norm_without_biases(a);
  read_hf_dimensions(c, a, rules);
  a.position = PositionKind::rotary;
  a.activation = read_hf_activation(c, MlpKind::gated, "silu");
  a.tied_embeddings = c.tied_embeddings(false);
}

void mistral(HfConfig& c, Architecture& a) { llama_like(c, a, {.kv_heads = Missing::is_error}); }

void internlm2(HfConfig& c, Architecture& a) {
  llama_like(c, a, {});
  a.qkv_bias = a.attention_out_bias = c.flag("bias", true);
}

void qwen2(HfConfig& c, Architecture& a) {
  llama_like(c, a, {.kv_heads = Missing::is_error});
  a.qkv_bias = true;
}

void qwen3(HfConfig& c, Architecture& a) {
  llama_like(c, a, {.kv_heads = Missing::is_error, .head_dim = Missing::is_error});
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.qk_norm = true;
}

void phi3(HfConfig& c, Architecture& a) {
  llama_like(c, a, {});
  c.require_false("attention_bias", "Phi-3's code has no such bias");
  c.require_false("mlp_bias", "Phi-3's code has no such bias");
  c.require_false("lm_head_bias", "Phi-3's code has no such bias");
}

void gemma(HfConfig& c, Architecture& a) {
  set_rms_norm_without_biases(a);
  read_hf_dimensions(c, a, {.kv_heads = Missing::is_error, .head_dim = Missing::is_error});
  a.position = PositionKind::rotary;
  a.activation = read_hf_activation(c, MlpKind::gated, "gelu_pytorch_tanh");
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.tied_embeddings = c.tied_embeddings(true);
}

void gemma2(HfConfig& c, Architecture& a) {
  gemma(c, a);
  a.post_norms = true;
}

void gemma3(HfConfig& c, Architecture& a) {
  gemma2(c, a);
  a.qk_norm = true;
}

void starcoder2(HfConfig& c, Architecture& a) {
  read_hf_dimensions(c, a, {.kv_heads = Missing::is_error});
  a.position = PositionKind::rotary;
  a.activation = read_hf_activation(c, MlpKind::plain, "gelu_pytorch_tanh");
  set_all_biases(a, c.flag("use_bias", true), true);
  if (c.word({"mlp_type"}, "default") != "default") c.refuse("mlp_type", "another MLP than StarCoder2's own");
  a.tied_embeddings = c.tied_embeddings(true);
}

void cohere(HfConfig& c, Architecture& a) {
  read_hf_dimensions(c, a, {});
  a.position = PositionKind::rotary;
  a.activation = read_hf_activation(c, MlpKind::gated, "silu");
  set_all_biases(a, false, false);
  a.qkv_bias = a.attention_out_bias = c.flag("attention_bias", false);
  a.parallel_block = a.shared_norm = true;
  a.tied_embeddings = c.tied_embeddings(true);
  c.require_false("use_qk_norm", "a norm with weights for every head of queries and keys");
}

void nemotron(HfConfig& c, Architecture& a) {
  read_hf_dimensions(c, a, {.kv_heads = Missing::is_error});
  a.position = PositionKind::rotary;
  a.activation = read_hf_activation(c, MlpKind::plain, "relu2");
  set_all_biases(a, c.flag("attention_bias", false), true);
  a.mlp_bias = c.flag("mlp_bias", false);
  a.tied_embeddings = c.tied_embeddings(false);
}

void stablelm(HfConfig& c, Architecture& a) {
  read_hf_dimensions(c, a, {});
  a.position = PositionKind::rotary;
  a.activation = read_hf_activation(c, MlpKind::gated, "silu");
  set_all_biases(a, false, true);
  a.qkv_bias = c.flag("use_qkv_bias", false);
  a.parallel_block = a.shared_norm = c.flag("use_parallel_residual", false);
  a.tied_embeddings = c.tied_embeddings(false);
  c.require_false("qk_layernorm", "a norm with weights for every head of queries and keys");
}

void chatglm(HfConfig& c, Architecture& a) {
  set_rms_norm_without_biases(a);
  read_hf_dimensions(c, a, {});
  a.position = PositionKind::rotary;
  a.activation = ActivationKind::swiglu;
  if (c.flag("multi_query_attention", false))
    a.kv_heads = c.integer({"multi_query_group_num"}, std::nullopt, a.heads);
  const bool biases = c.flag("add_bias_linear", false);
  set_all_biases(a, biases, false);
  a.qkv_bias = biases || c.flag("add_qkv_bias", false);
  a.tied_embeddings = c.tied_embeddings(false);
  if (!c.flag("rmsnorm", true)) a.norm = NormKind::layer_norm, a.norm_bias = true;
  if (!c.flag("post_layer_norm", true)) c.refuse("post_layer_norm", "a model without a last norm");
}

struct Entry {
  HfFamily family;
  std::vector<std::string_view> model_types;
  std::vector<std::string_view> classes;
};

const std::vector<Entry>& table() {
  static const std::vector<Entry> entries = {
      {{"gpt2", gpt2}, {"gpt2"}, {"GPT2LMHeadModel"}},
      {{"gpt_bigcode", gpt_bigcode}, {"gpt_bigcode"}, {"GPTBigCodeForCausalLM"}},
      {{"opt", opt}, {"opt"}, {"OPTForCausalLM"}},
      {{"bloom", bloom}, {"bloom"}, {"BloomForCausalLM"}},
      {{"gpt_neox", gpt_neox}, {"gpt_neox"}, {"GPTNeoXForCausalLM"}},
      {{"gptj", gptj}, {"gptj"}, {"GPTJForCausalLM"}},
      {{"phi", phi}, {"phi", "phi-msft"}, {"PhiForCausalLM"}},
      {{"falcon", falcon},
       {"falcon", "RefinedWeb", "RefinedWebModel"},
       {"FalconForCausalLM", "RWForCausalLM"}},
      {{"mpt", mpt}, {"mpt"}, {"MPTForCausalLM", "MptForCausalLM"}},
      {{"llama", llama}, {"llama", "llama2"}, {"LlamaForCausalLM"}},
      {{"mistral", mistral}, {"mistral", "ministral3"}, {"MistralForCausalLM"}},
      {{"internlm2", internlm2}, {"internlm2"}, {"InternLM2ForCausalLM"}},
      {{"qwen2", qwen2},
       {"qwen2", "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"},
       {"Qwen2ForCausalLM"}},
      {{"qwen3", qwen3}, {"qwen3", "qwen3_vl_text"}, {"Qwen3ForCausalLM"}},
      {{"phi3", phi3}, {"phi3", "phi3_v"}, {"Phi3ForCausalLM"}},
      {{"gemma", gemma}, {"gemma"}, {"GemmaForCausalLM"}},
      {{"gemma2", gemma2}, {"gemma2"}, {"Gemma2ForCausalLM"}},
      {{"gemma3", gemma3}, {"gemma3", "gemma3_text"}, {"Gemma3ForCausalLM"}},
      {{"starcoder2", starcoder2}, {"starcoder2"}, {"Starcoder2ForCausalLM"}},
      {{"cohere", cohere}, {"cohere"}, {"CohereForCausalLM"}},
      {{"nemotron", nemotron}, {"nemotron"}, {"NemotronForCausalLM"}},
      {{"stablelm", stablelm}, {"stablelm"}, {"StableLmForCausalLM"}},
      {{"mixtral", read_mixtral, {.experts = true}}, {"mixtral"}, {"MixtralForCausalLM"}},
      {{"qwen2_moe", read_qwen2_moe, {.experts = true}}, {"qwen2_moe"}, {"Qwen2MoeForCausalLM"}},
      {{"qwen3_moe", read_qwen3_moe, {.experts = true}}, {"qwen3_moe"}, {"Qwen3MoeForCausalLM"}},
      {{"deepseek", read_deepseek, {.experts = true, .latent = true}},
       {"deepseek_v2", "deepseek_v3", "kimi_k2"},
       {"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM"}},
      {{"gpt_oss", read_gpt_oss, {.experts = true}}, {"gpt_oss"}, {"GptOssForCausalLM"}},
      {{"grok-1", read_grok, {.experts = true}}, {"grok-1"}, {"Grok1ModelForCausalLM"}},
      {{"chatglm", chatglm}, {"chatglm"}, {"ChatGLMModel", "ChatGLMForConditionalGeneration"}},
  };
  return entries;
}

bool lists(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

const HfFamily* find_family(std::string_view model_type, std::string_view class_name) {
  for (const Entry& entry : table()) {
    const bool matches =
        model_type.empty() ? lists(entry.classes, class_name) : lists(entry.model_types, model_type);
    if (matches) return &entry.family;
  }
  return nullptr;
}

std::string known_families() {
  std::string text;
  for (const Entry& entry : table()) text += fmt::format("{}{}", text.empty() ? "" : ", ", entry.family.name);
  return text;
}

}  // namespace orrery::models
