// Writes the native model format, every key in the order of docs/reference/model.md, so that a file says all
// it means.
#include <nlohmann/json.hpp>

#include "models/field_words.h"
#include "models/zoo_reader.h"

namespace orrery::models {
namespace {

nlohmann::ordered_json experts_json(const Experts& e) {
  return {{"count", e.count},
          {"top_k", e.top_k},
          {"ffn_hidden", e.ffn_hidden},
          {"shared_ffn_hidden", e.shared_ffn_hidden},
          {"dense_layers", e.dense_layers},
          {"every", e.every},
          {"router", word_of(router_words(), e.router)},
          {"router_bias", e.router_bias},
          {"correction_bias", e.correction_bias},
          {"normalized", e.normalized},
          {"shared_gate", e.shared_gate},
          {"groups", e.groups},
          {"top_groups", e.top_groups},
          {"scale", e.scale},
          {"capacity_factor", e.capacity_factor}};
}

}  // namespace

std::string write_architecture(const Architecture& a) {
  nlohmann::ordered_json json;
  json["name"] = a.name;
  json["source"] = a.source;
  json["layers"] = a.layers;
  json["hidden"] = a.hidden;
  json["heads"] = a.heads;
  json["kv_heads"] = a.kv_heads;
  json["head_dim"] = a.head_dim;
  json["ffn_hidden"] = a.ffn_hidden;
  json["vocab"] = a.vocab;
  json["position"] = word_of(position_words(), a.position);
  if (a.position == PositionKind::learned) json["max_positions"] = a.max_positions;
  json["norm"] = word_of(norm_words(), a.norm);
  json["activation"] = word_of(activation_words(), a.activation);
  json["qkv_bias"] = a.qkv_bias;
  json["attention_out_bias"] = a.attention_out_bias;
  json["mlp_bias"] = a.mlp_bias;
  json["norm_bias"] = a.norm_bias;
  json["head_bias"] = a.head_bias;
  json["embedding_norm"] = a.embedding_norm;
  json["qk_norm"] = a.qk_norm;
  json["post_norms"] = a.post_norms;
  json["tied_embeddings"] = a.tied_embeddings;
  json["parallel_block"] = a.parallel_block;
  json["shared_norm"] = a.shared_norm;
  if (a.attention_sinks) json["attention_sinks"] = true;
  json["dropout"] = a.dropout;
  if (a.experts.count > 0) json["experts"] = experts_json(a.experts);
  if (a.latent.kv_rank > 0)
    json["latent_attention"] = {{"kv_rank", a.latent.kv_rank},
                                {"query_rank", a.latent.query_rank},
                                {"nope_dim", a.latent.nope_dim},
                                {"rope_dim", a.latent.rope_dim},
                                {"value_dim", a.latent.value_dim}};
  if (a.prediction_layers > 0) json["prediction_layers"] = a.prediction_layers;
  constexpr int indent = 2;
  constexpr bool ascii_only = false;
  return json.dump(indent, ' ', ascii_only, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::models
