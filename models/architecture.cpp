// The arithmetic of a dense decoder: which weights a unit holds, how they are cut over tensor-parallel ranks,
// and what a forward pass costs. Everything is derived from `Architecture`; nothing is stored twice.
//
// Column-parallel weights (query, key, value, gate, up, token embedding, output) are cut by rows, their
// biases with them; row-parallel ones (attention.out, mlp.down) by columns, their biases stay whole (Shoeybi
// et al. 2019, sec. 3).
#include "models/architecture.h"

#include <utility>

#include "base/check.h"

namespace orrery::models {
namespace {

std::int64_t query_width(const Architecture& a) { return a.heads * a.head_dim; }
std::int64_t kv_width(const Architecture& a) { return a.kv_heads * a.head_dim; }

class ParameterList {
 public:
  void matrix(std::string name, std::int64_t rows, std::int64_t columns, Sharding sharding,
              Initial initial = Initial::normal) {
    list_.push_back({std::move(name), rows, columns, sharding, initial, true});
  }
  void bias(std::string name, std::int64_t rows, Sharding sharding) {
    list_.push_back({std::move(name), rows, 1, sharding, Initial::zeros, false});
  }
  void gain(std::string name, std::int64_t rows) {
    list_.push_back({std::move(name), rows, 1, Sharding::replicated, Initial::ones, false});
  }
  void norm(const std::string& name, const Architecture& a) {
    gain(name + ".weight", a.hidden);
    if (a.norm_bias) bias(name + ".bias", a.hidden, Sharding::replicated);
  }
  std::vector<Parameter> take() { return std::move(list_); }

 private:
  std::vector<Parameter> list_;
};

void add_attention(ParameterList& list, const Architecture& a) {
  list.matrix("attention.query", query_width(a), a.hidden, Sharding::rows);
  list.matrix("attention.key", kv_width(a), a.hidden, Sharding::rows);
  list.matrix("attention.value", kv_width(a), a.hidden, Sharding::rows);
  if (a.qkv_bias) {
    list.bias("attention.query_bias", query_width(a), Sharding::rows);
    list.bias("attention.key_bias", kv_width(a), Sharding::rows);
    list.bias("attention.value_bias", kv_width(a), Sharding::rows);
  }
  if (a.qk_norm) {  // one gain for all heads, so every rank needs all of it
    list.gain("attention.query_norm", a.head_dim);
    list.gain("attention.key_norm", a.head_dim);
  }
  list.matrix("attention.out", a.hidden, query_width(a), Sharding::columns, Initial::normal_scaled);
  if (a.attention_out_bias) list.bias("attention.out_bias", a.hidden, Sharding::replicated);
}

void add_mlp(ParameterList& list, const Architecture& a) {
  const bool is_gated = gated(a.activation);
  if (is_gated) list.matrix("mlp.gate", a.ffn_hidden, a.hidden, Sharding::rows);
  list.matrix("mlp.up", a.ffn_hidden, a.hidden, Sharding::rows);
  if (a.mlp_bias && is_gated) list.bias("mlp.gate_bias", a.ffn_hidden, Sharding::rows);
  if (a.mlp_bias) list.bias("mlp.up_bias", a.ffn_hidden, Sharding::rows);
  list.matrix("mlp.down", a.hidden, a.ffn_hidden, Sharding::columns, Initial::normal_scaled);
  if (a.mlp_bias) list.bias("mlp.down_bias", a.hidden, Sharding::replicated);
}

}  // namespace

std::int64_t padded_vocab(std::int64_t vocab, std::int64_t divisible_by, std::int64_t tp) {
  CHECK(vocab >= 0 && divisible_by >= 1 && tp >= 1, vocab, divisible_by, tp);
  const std::int64_t multiple = divisible_by * tp;
  return (vocab + multiple - 1) / multiple * multiple;
}

std::vector<Parameter> embedding_parameters(const Architecture& a, std::int64_t vocab_rows) {
  ParameterList list;
  list.matrix("token", vocab_rows, a.hidden, Sharding::rows);
  if (a.position == PositionKind::learned)
    list.matrix("position", a.max_positions, a.hidden, Sharding::replicated);
  if (a.embedding_norm) list.norm("norm", a);
  return list.take();
}

std::vector<Parameter> layer_parameters(const Architecture& a) {
  ParameterList list;
  list.norm("norm1", a);
  add_attention(list, a);
  if (a.post_norms) list.norm("post_norm1", a);
  if (!a.shared_norm) list.norm("norm2", a);
  add_mlp(list, a);
  if (a.post_norms) list.norm("post_norm2", a);
  return list.take();
}

std::vector<Parameter> head_parameters(const Architecture& a, std::int64_t vocab_rows) {
  ParameterList list;
  list.norm("norm", a);
  if (!a.tied_embeddings) list.matrix("output", vocab_rows, a.hidden, Sharding::rows);
  if (a.head_bias) list.bias("output_bias", vocab_rows, Sharding::rows);
  return list.take();
}

std::int64_t count(const std::vector<Parameter>& parameters) {
  std::int64_t total = 0;
  for (const Parameter& p : parameters) total += p.count();
  return total;
}

std::int64_t parameter_count(const Architecture& a) {
  return count(embedding_parameters(a, a.vocab)) + a.layers * count(layer_parameters(a)) +
         count(head_parameters(a, a.vocab));
}

// A product with a [rows x columns] weight costs 2 rows columns a token; the attention square costs 2 s s d_q
// for Q K^T and as much for P V. With MHA, f = 4h and no gate that is Narayanan's 24 s l h^2 (1 + s / 6h) + 2
// s h V.
double forward_flops(const Architecture& a, std::int64_t s, std::int64_t vocab_rows, bool causal) {
  const FlopsOfSequence f = forward_flops_by_part(a, s, vocab_rows);
  return f.projections + f.mlp + f.head + (causal ? 0.5 : 1.0) * f.attention_square;
}

FlopsOfSequence forward_flops_by_part(const Architecture& a, std::int64_t s, std::int64_t vocab_rows) {
  const auto tokens = static_cast<double>(s);
  const auto layers = static_cast<double>(a.layers);
  const auto hidden = static_cast<double>(a.hidden);
  const auto query = static_cast<double>(query_width(a));
  const auto kv = static_cast<double>(kv_width(a));
  const double mlp_matrices = gated(a.activation) ? 3.0 : 2.0;
  FlopsOfSequence f;
  f.projections = layers * 2.0 * tokens * hidden * (2.0 * query + 2.0 * kv);
  f.attention_square = layers * 4.0 * tokens * tokens * query;
  f.mlp = layers * 2.0 * tokens * hidden * static_cast<double>(a.ffn_hidden) * mlp_matrices;
  f.head = 2.0 * tokens * hidden * static_cast<double>(vocab_rows);
  return f;
}

}  // namespace orrery::models
