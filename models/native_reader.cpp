// Reads the native model format. Left-out keys have the documented default, which is a GPT-2-style model's; a
// value that another one makes meaningless is an error, so that a file never says two things.
#include "models/native_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/object_reader.h"
#include "models/dimension_checks.h"
#include "models/field_words.h"

namespace orrery::models {
namespace {

IntegerRule required(std::int64_t max) { return {std::nullopt, 1, max}; }
IntegerRule with_fallback(std::int64_t fallback, std::int64_t max) { return {fallback, 1, max}; }

Field field(const ObjectReader& r, const char* key) { return {key, r.place(key)}; }

std::size_t error_count(const Diagnostics& diagnostics) {
  std::size_t errors = 0;
  for (const Diagnostic& d : diagnostics.all()) errors += d.severity == Severity::error ? 1 : 0;
  return errors;
}

void read_dimensions(ObjectReader& r, Architecture& a) {
  const DimensionFields fields{field(r, "hidden"), field(r, "heads"), field(r, "kv_heads"),
                               field(r, "head_dim"), r.place()};
  const std::size_t errors_before = error_count(r.diagnostics());
  a.layers = r.integer("layers", required(layers_max));
  a.hidden = r.integer("hidden", required(hidden_max));
  a.heads = r.integer("heads", required(heads_max));
  a.vocab = r.integer("vocab", required(vocab_max));
  a.kv_heads = r.integer("kv_heads", with_fallback(a.heads, heads_max));
  const bool ffn_is_known = r.has("ffn_hidden") || !gated(a.activation);
  a.ffn_hidden =
      r.integer("ffn_hidden", ffn_is_known ? with_fallback(4 * a.hidden, ffn_max) : required(ffn_max));
  a.head_dim = r.integer("head_dim", with_fallback(1, head_dim_max));
  if (error_count(r.diagnostics()) > errors_before) return;  // what follows compares dimensions
  if (!r.has("head_dim")) a.head_dim = default_head_dim(a.hidden, a.heads, fields, r.diagnostics());
  check_dimensions(a, fields, r.diagnostics());
}

void read_position(ObjectReader& r, Architecture& a) {
  a.position = r.choice<PositionKind>("position", PositionKind::learned, position_words());
  if (a.position == PositionKind::learned) {
    a.max_positions = r.integer("max_positions", required(positions_max));
  } else if (r.has("max_positions")) {
    r.diagnostics().error(
        r.place("max_positions"),
        fmt::format("\"max_positions\" has no meaning with position \"{}\"",
                    word_of(position_words(), a.position)),
        "it counts the rows of the learned position table: remove it, or write \"position\": \"learned\"");
  }
}

void read_norms(ObjectReader& r, Architecture& a) {
  a.norm = r.choice<NormKind>("norm", NormKind::layer_norm, norm_words());
  const bool is_layer_norm = a.norm == NormKind::layer_norm;
  a.norm_bias = r.boolean("norm_bias", is_layer_norm);
  if (a.norm_bias && !is_layer_norm)
    r.diagnostics().error(r.place("norm_bias"), "\"norm_bias\" is true, but an RMSNorm has no bias",
                          "remove it, or write \"norm\": \"layer_norm\"");
  a.embedding_norm = r.boolean("embedding_norm", false);
  a.qk_norm = r.boolean("qk_norm", false);
  a.post_norms = r.boolean("post_norms", false);
}

void read_block(ObjectReader& r, Architecture& a) {
  a.qkv_bias = r.boolean("qkv_bias", true);
  a.attention_out_bias = r.boolean("attention_out_bias", true);
  a.mlp_bias = r.boolean("mlp_bias", true);
  a.head_bias = r.boolean("head_bias", false);
  a.tied_embeddings = r.boolean("tied_embeddings", true);
  a.parallel_block = r.boolean("parallel_block", false);
  a.shared_norm = r.boolean("shared_norm", false);
  if (a.post_norms && (a.attention_out_bias || a.mlp_bias))
    r.diagnostics().error(r.place("post_norms"),
                          "\"post_norms\" does not go with biases behind attention and MLP: on which side of the norm they "
                          "would be added is not defined",
                          "set attention_out_bias and mlp_bias to false");
  if (a.shared_norm && !a.parallel_block)
    r.diagnostics().error(r.place("shared_norm"), "\"shared_norm\" needs \"parallel_block\": true",
                          "attention and MLP can share a norm only where they run side by side");
  if (a.post_norms && a.parallel_block)
    r.diagnostics().error(r.place("post_norms"), "\"post_norms\" and \"parallel_block\" exclude each other",
                          "no known model has both: set one of them to false");
}

void read_experts(const Json& json, Architecture& a, Diagnostics& diagnostics) {
  ObjectReader r(json, diagnostics, "experts");
  Experts& e = a.experts;
  e.count = r.integer("count", required(experts_max));
  e.top_k = r.integer("top_k", {std::nullopt, 1, std::max<std::int64_t>(e.count, 1)});
  e.ffn_hidden = r.integer("ffn_hidden", with_fallback(a.ffn_hidden, ffn_max));
  e.shared_ffn_hidden = r.integer("shared_ffn_hidden", {0, 0, ffn_max});
  e.dense_layers = r.integer("dense_layers", {0, 0, layers_max});
  e.every = r.integer("every", with_fallback(1, layers_max));
  e.router = r.choice<RouterKind>("router", RouterKind::softmax, router_words());
  e.router_bias = r.boolean("router_bias", false);
  e.correction_bias = r.boolean("correction_bias", false);
  e.normalized = r.boolean("normalized", true);
  e.shared_gate = r.boolean("shared_gate", false);
  e.groups = r.integer("groups", with_fallback(1, experts_max));
  e.top_groups = r.integer("top_groups", with_fallback(e.groups, experts_max));
  e.scale = r.number("scale", {1.0, 0.0, 1e6});
  e.capacity_factor = r.number("capacity_factor", {0.0, 0.0, 1e6});
  const auto field = [&](const char* key) { return Field{key, r.place(key)}; };
  check_experts(a, {field("top_k"), field("groups"), field("dense_layers"), field("shared_gate")}, diagnostics);
  r.finish();
}

void read_latent(const Json& json, Architecture& a, Diagnostics& diagnostics) {
  ObjectReader r(json, diagnostics, "latent_attention");
  LatentAttention& l = a.latent;
  l.kv_rank = r.integer("kv_rank", required(hidden_max));
  l.query_rank = r.integer("query_rank", {0, 0, hidden_max});
  l.nope_dim = r.integer("nope_dim", required(head_dim_max));
  l.rope_dim = r.integer("rope_dim", required(head_dim_max));
  l.value_dim = r.integer("value_dim", required(head_dim_max));
  if (a.qkv_bias || a.attention_out_bias || a.qk_norm || a.attention_sinks || a.kv_heads != a.heads)
    diagnostics.error(r.place(), "latent attention has no biases, no sinks, no norms of heads and as many key-value heads as heads",
                      "set qkv_bias, attention_out_bias, qk_norm and attention_sinks to false, and leave kv_heads out");
  if (a.head_dim != l.nope_dim + l.rope_dim)
    diagnostics.error(r.place(), fmt::format("a head of {} is not nope_dim + rope_dim = {}", a.head_dim, l.nope_dim + l.rope_dim),
                      fmt::format("\"head_dim\": {}", l.nope_dim + l.rope_dim));
  r.finish();
}

}  // namespace

bool looks_native(const Json& json) {
  for (const char* key : {"layers", "hidden", "heads", "ffn_hidden"})
    if (json.find(key) != nullptr) return true;
  return false;
}

Architecture read_native(const Json& json, Diagnostics& diagnostics) {
  ObjectReader r(json, diagnostics, "the model");
  Architecture a;
  a.name = r.text("name", std::string("model"));
  a.source = r.text("source", std::string());
  a.activation = r.choice<ActivationKind>("activation", ActivationKind::gelu, activation_words());
  read_position(r, a);
  read_dimensions(r, a);
  read_norms(r, a);
  read_block(r, a);
  a.attention_sinks = r.boolean("attention_sinks", false);
  a.dropout = r.number("dropout", {0.0, 0.0, 0.99});
  if (const Json* experts = r.child("experts")) read_experts(*experts, a, diagnostics);
  if (const Json* latent = r.child("latent_attention")) read_latent(*latent, a, diagnostics);
  a.prediction_layers = r.integer("prediction_layers", {0, 0, layers_max});
  r.finish();
  return a;
}

}  // namespace orrery::models
