// The `key=value` fields of the text form, listed once: printing writes those that differ from the default,
// parsing reads them. `visit` is called as visit("key", member).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/architecture.h"
#include "schedule/ir.h"

namespace orrery::schedule {

// The words of an enumeration, in the order of its enumerators.
template <typename Enum>
struct EnumWords {  // those of this room have a count and a name()
  static std::string_view at(std::size_t i) { return name(static_cast<Enum>(i)); }
};
template <>
struct EnumWords<models::PositionKind> {
  static constexpr std::array<std::string_view, 4> table = {"none", "learned", "rotary", "alibi"};
  static std::string_view at(std::size_t i) { return table[i]; }
};
template <>
struct EnumWords<models::NormKind> {
  static constexpr std::array<std::string_view, 2> table = {"layer_norm", "rms_norm"};
  static std::string_view at(std::size_t i) { return table[i]; }
};
template <>
struct EnumWords<models::ActivationKind> {
  static constexpr std::array<std::string_view, 5> table = {"gelu", "relu", "squared_relu", "swiglu",
                                                            "geglu"};
  static std::string_view at(std::size_t i) { return table[i]; }
};
template <>
struct EnumWords<models::RouterKind> {
  static constexpr std::array<std::string_view, 2> table = {"softmax", "sigmoid"};
  static std::string_view at(std::size_t i) { return table[i]; }
};
template <>
struct EnumWords<models::Sharding> {
  static constexpr std::array<std::string_view, 3> table = {"replicated", "rows", "columns"};
  static std::string_view at(std::size_t i) { return table[i]; }
};
template <>
struct EnumWords<models::Initial> {
  static constexpr std::array<std::string_view, 4> table = {"zeros", "ones", "normal", "normal_scaled"};
  static std::string_view at(std::size_t i) { return table[i]; }
};

template <typename Enum>
inline constexpr std::size_t kWordCount = EnumWords<Enum>::table.size();
template <>
inline constexpr std::size_t kWordCount<DataType> = kDataTypes;
template <>
inline constexpr std::size_t kWordCount<OpKind> = kOpKinds;
template <>
inline constexpr std::size_t kWordCount<Role> = kRoles;
template <>
inline constexpr std::size_t kWordCount<Stream> = kStreams;
template <>
inline constexpr std::size_t kWordCount<Phase> = kPhases;
template <>
inline constexpr std::size_t kWordCount<BufferKind> = kBufferKinds;
template <>
inline constexpr std::size_t kWordCount<UnitKind> = kUnitKinds;
template <>
inline constexpr std::size_t kWordCount<Extent> = kExtents;
template <>
inline constexpr std::size_t kWordCount<Layout> = kLayouts;
template <>
inline constexpr std::size_t kWordCount<Reduce> = kReduces;
template <>
inline constexpr std::size_t kWordCount<Norm> = kNorms;
template <>
inline constexpr std::size_t kWordCount<Activation> = kActivations;

template <typename Enum>
std::string_view word_of(Enum value) {
  return EnumWords<Enum>::at(static_cast<std::size_t>(value));
}

template <typename Enum>
std::optional<Enum> from_word(std::string_view word) {
  for (std::size_t i = 0; i < kWordCount<Enum>; ++i)
    if (EnumWords<Enum>::at(i) == word) return static_cast<Enum>(i);
  return std::nullopt;
}

template <typename Enum>
std::vector<std::string> all_words() {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < kWordCount<Enum>; ++i) words.emplace_back(EnumWords<Enum>::at(i));
  return words;
}

template <typename Shape, typename Visit>
void for_each_shape_field(Shape& s, Visit&& visit) {
  visit("m", s.m), visit("n", s.n), visit("k", s.k);
  visit("batch", s.batch), visit("sequence", s.sequence);
  visit("experts", s.experts), visit("groups", s.groups), visit("top_groups", s.top_groups);
  visit("sigmoid", s.sigmoid), visit("normalized", s.normalized);
  visit("heads", s.heads), visit("kv_heads", s.kv_heads), visit("head_dim", s.head_dim);
  visit("keys", s.keys);
  visit("value_dim", s.value_dim), visit("rope_dim", s.rope_dim);
  visit("layout", s.layout), visit("reduce", s.reduce), visit("norm", s.norm),
      visit("activation", s.activation);
  visit("causal", s.causal), visit("alibi", s.alibi), visit("sequence_sharded", s.sequence_sharded);
  visit("dropout", s.dropout), visit("scale", s.scale);
}

template <typename HyperLike, typename Visit>
void for_each_hyper_field(HyperLike& h, Visit&& visit) {
  visit("learning_rate", h.learning_rate), visit("weight_decay", h.weight_decay);
  visit("beta1", h.beta1), visit("beta2", h.beta2), visit("epsilon", h.epsilon);
  visit("clip_gradient_norm", h.clip_gradient_norm), visit("seed", h.seed);
}

template <typename Model, typename Visit>
void for_each_model_field(Model& a, Visit&& visit) {
  visit("name", a.name), visit("source", a.source);
  visit("layers", a.layers), visit("hidden", a.hidden), visit("heads", a.heads),
      visit("kv_heads", a.kv_heads);
  visit("head_dim", a.head_dim), visit("ffn_hidden", a.ffn_hidden), visit("vocab", a.vocab);
  visit("max_positions", a.max_positions);
  visit("position", a.position), visit("norm", a.norm), visit("activation", a.activation);
  visit("qkv_bias", a.qkv_bias), visit("attention_out_bias", a.attention_out_bias),
      visit("mlp_bias", a.mlp_bias);
  visit("norm_bias", a.norm_bias), visit("head_bias", a.head_bias), visit("embedding_norm", a.embedding_norm);
  visit("qk_norm", a.qk_norm), visit("post_norms", a.post_norms), visit("tied_embeddings", a.tied_embeddings);
  visit("parallel_block", a.parallel_block), visit("shared_norm", a.shared_norm), visit("dropout", a.dropout);
  visit("attention_sinks", a.attention_sinks), visit("prediction_layers", a.prediction_layers);
  auto& e = a.experts;
  visit("experts", e.count), visit("top_k", e.top_k), visit("expert_ffn_hidden", e.ffn_hidden);
  visit("shared_ffn_hidden", e.shared_ffn_hidden), visit("dense_layers", e.dense_layers), visit("every", e.every);
  visit("router", e.router), visit("router_bias", e.router_bias), visit("correction_bias", e.correction_bias);
  visit("normalized", e.normalized), visit("shared_gate", e.shared_gate), visit("groups", e.groups);
  visit("top_groups", e.top_groups), visit("router_scale", e.scale), visit("capacity_factor", e.capacity_factor);
  auto& l = a.latent;
  visit("kv_rank", l.kv_rank), visit("query_rank", l.query_rank), visit("nope_dim", l.nope_dim);
  visit("rope_dim", l.rope_dim), visit("value_dim", l.value_dim);
}

template <typename UnitLike, typename Visit>
void for_each_unit_field(UnitLike& u, Visit&& visit) {
  visit("layer", u.layer), visit("ordinal", u.ordinal), visit("used", u.used), visit("elements", u.elements);
  visit("replicated_until", u.replicated_until), visit("replicated_from", u.replicated_from);
  visit("decay_from", u.decay_from), visit("tied_copy", u.tied_copy);
  visit("weight_shards", u.weight_shards), visit("gradient_shards", u.gradient_shards);
  visit("optimizer_shards", u.optimizer_shards);
}

// Defaults that both directions share.
inline Stream default_stream(OpKind kind, std::uint8_t group) {
  if (is_collective(kind)) return group == kTensor ? Stream::tensor : Stream::data;
  if (kind == OpKind::copy_to_host) return Stream::to_host;
  if (kind == OpKind::copy_to_device || kind == OpKind::input) return Stream::to_device;
  if (kind == OpKind::cpu_adam) return Stream::cpu;
  return kind == OpKind::host_wait ? Stream::host : Stream::compute;
}
inline std::uint8_t default_group(OpKind kind) {
  return is_point_to_point(kind) ? std::uint8_t{kPipe} : kNoGroup;
}
inline View default_view(const Buffer& buffer, Role role) {
  View view;
  if (role == Role::release) view.rows = 0;
  view.columns = role == Role::release ? 0 : buffer.elements;
  view.row_stride = view.columns;
  view.role = role;
  return view;
}
inline constexpr std::array<std::string_view, 5> kStandardGroupNames = {"world", "tensor", "data", "pipe",
                                                                        "embedding"};

// A name that needs no quotes: starts with a letter or '_', goes on with letters, digits and . _ ' / - (no
// "//").
bool is_plain_word(std::string_view text);

}  // namespace orrery::schedule
