// Writes the native model format, every key in the order of docs/reference/model.md, so that a file says all
// it means.
#include <nlohmann/json.hpp>

#include "models/field_words.h"
#include "models/zoo_reader.h"

namespace orrery::models {

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
  json["dropout"] = a.dropout;
  constexpr int indent = 2;
  constexpr bool ascii_only = false;
  return json.dump(indent, ' ', ascii_only, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::models
