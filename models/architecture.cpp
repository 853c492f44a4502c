// The arithmetic of a decoder: which weights a unit holds, how they are cut over tensor-parallel ranks,
// and what a forward pass costs. Everything is derived from `Architecture`; nothing is stored twice.
//
// Column-parallel weights (query, key, value, gate, up, token embedding, output) are cut by rows, their
// biases with them; row-parallel ones (attention.out, mlp.down) by columns, their biases stay whole (Shoeybi
// et al. 2019, sec. 3). The low-rank projections of latent attention are whole on every rank; those behind them are cut by
// heads. An expert is cut like an MLP.
#include "models/architecture.h"

#include <algorithm>
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

void add_latent_attention(ParameterList& list, const Architecture& a) {
  const LatentAttention& l = a.latent;
  const auto low_rank = [&](const char* name, std::int64_t rows) {
    list.matrix(name, rows, a.hidden, Sharding::replicated);
  };
  if (l.query_rank > 0) {
    low_rank("attention.query_down", l.query_rank);
    list.gain("attention.query_down_norm", l.query_rank);
    list.matrix("attention.query_up", query_width(a), l.query_rank, Sharding::rows);
  } else {
    list.matrix("attention.query", query_width(a), a.hidden, Sharding::rows);
  }
  low_rank("attention.kv_down", l.kv_rank + l.rope_dim);
  list.gain("attention.kv_norm", l.kv_rank);
  list.matrix("attention.kv_up", a.heads * (l.nope_dim + l.value_dim), l.kv_rank, Sharding::rows);
  list.matrix("attention.out", a.hidden, a.heads * l.value_dim, Sharding::columns, Initial::normal_scaled);
}

void add_attention(ParameterList& list, const Architecture& a) {
  if (a.latent.kv_rank > 0) return add_latent_attention(list, a);
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
  if (a.attention_sinks) list.bias("attention.sinks", a.heads, Sharding::rows);
}

void add_mlp(ParameterList& list, const Architecture& a, const std::string& prefix, std::int64_t width) {
  const bool is_gated = gated(a.activation);
  if (is_gated) list.matrix(prefix + "gate", width, a.hidden, Sharding::rows);
  list.matrix(prefix + "up", width, a.hidden, Sharding::rows);
  if (a.mlp_bias && is_gated) list.bias(prefix + "gate_bias", width, Sharding::rows);
  if (a.mlp_bias) list.bias(prefix + "up_bias", width, Sharding::rows);
  list.matrix(prefix + "down", a.hidden, width, Sharding::columns, Initial::normal_scaled);
  if (a.mlp_bias) list.bias(prefix + "down_bias", a.hidden, Sharding::replicated);
}

void add_router(ParameterList& list, const Architecture& a) {
  const Experts& e = a.experts;
  list.matrix("router", e.count, a.hidden, Sharding::replicated);
  if (e.router_bias) list.bias("router_bias", e.count, Sharding::replicated);
  if (e.correction_bias) list.bias("router_correction", e.count, Sharding::replicated);
  if (e.shared_ffn_hidden > 0) add_mlp(list, a, "mlp.", e.shared_ffn_hidden);
  if (e.shared_gate) list.matrix("shared_gate", 1, a.hidden, Sharding::replicated);
}

std::vector<Parameter> any_layer(const Architecture& a, bool has_experts) {
  ParameterList list;
  list.norm("norm1", a);
  add_attention(list, a);
  if (a.post_norms) list.norm("post_norm1", a);
  if (!a.shared_norm) list.norm("norm2", a);
  if (has_experts)
    add_router(list, a);
  else
    add_mlp(list, a, "mlp.", a.ffn_hidden);
  if (a.post_norms) list.norm("post_norm2", a);
  return list.take();
}

// FLOPs of a token: 2 for each element of the matrices of these parameters whose name begins so.
double matrix_flops(const std::vector<Parameter>& parameters, const std::string& prefix) {
  double sum = 0.0;
  for (const Parameter& p : parameters)
    if (p.columns > 1 && p.name.starts_with(prefix)) sum += 2.0 * static_cast<double>(p.count());
  return sum;
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

bool is_expert_layer(const Architecture& a, std::int64_t layer) {
  const Experts& e = a.experts;
  return e.count > 0 && layer >= e.dense_layers && (layer - e.dense_layers + 1) % e.every == 0;
}

std::int64_t expert_layers(const Architecture& a) {
  return a.experts.count == 0 ? 0 : std::max<std::int64_t>(0, a.layers - a.experts.dense_layers) / a.experts.every;
}

std::vector<Parameter> layer_parameters(const Architecture& a) { return any_layer(a, false); }
std::vector<Parameter> expert_layer_parameters(const Architecture& a) { return any_layer(a, true); }

std::vector<Parameter> expert_parameters(const Architecture& a) {
  ParameterList list;
  add_mlp(list, a, "", a.experts.ffn_hidden);
  return list.take();
}

std::vector<Parameter> prediction_parameters(const Architecture& a) {
  ParameterList list;
  list.norm("embedding_norm", a);
  list.norm("hidden_norm", a);
  list.matrix("projection", a.hidden, 2 * a.hidden, Sharding::rows);
  std::vector<Parameter> all = list.take();
  for (Parameter& p : any_layer(a, a.experts.count > 0)) all.push_back(std::move(p));
  list.norm("norm", a);
  for (Parameter& p : list.take()) all.push_back(std::move(p));
  return all;
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

std::int64_t largest_layer_unit(const Architecture& a, std::int64_t local_experts) {
  const std::int64_t sparse = expert_layers(a);
  std::int64_t largest = sparse < a.layers ? count(layer_parameters(a)) : 0;
  if (sparse > 0)
    largest = std::max({largest, count(expert_layer_parameters(a)), local_experts * count(expert_parameters(a))});
  return largest;
}

std::int64_t parameter_count(const Architecture& a) {
  const std::int64_t sparse = expert_layers(a);
  std::int64_t total = count(embedding_parameters(a, a.vocab)) + count(head_parameters(a, a.vocab)) +
                       (a.layers - sparse) * count(layer_parameters(a));
  if (sparse > 0)
    total += sparse * (count(expert_layer_parameters(a)) + a.experts.count * count(expert_parameters(a)));
  return total;
}

std::int64_t active_parameter_count(const Architecture& a) {
  const std::int64_t sparse = expert_layers(a);
  if (sparse == 0) return parameter_count(a);
  return parameter_count(a) - sparse * (a.experts.count - a.experts.top_k) * count(expert_parameters(a));
}

std::int64_t prediction_parameter_count(const Architecture& a) {
  if (a.prediction_layers == 0) return 0;
  return a.prediction_layers * (count(prediction_parameters(a)) + a.experts.count * count(expert_parameters(a)));
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
  const auto sparse = static_cast<double>(expert_layers(a)), layers = static_cast<double>(a.layers);
  const std::vector<Parameter> dense = layer_parameters(a);
  const std::int64_t values = a.latent.kv_rank > 0 ? a.heads * a.latent.value_dim : query_width(a);
  FlopsOfSequence f;
  f.projections = layers * tokens * matrix_flops(dense, "attention.");
  f.attention_square = layers * 2.0 * tokens * tokens * static_cast<double>(query_width(a) + values);
  f.mlp = (layers - sparse) * tokens * matrix_flops(dense, "mlp.");
  if (sparse > 0.0) {
    const std::vector<Parameter> layer = expert_layer_parameters(a);
    const double of_token = matrix_flops(layer, "mlp.") + matrix_flops(layer, "router") + matrix_flops(layer, "shared_") +
                            static_cast<double>(a.experts.top_k) * matrix_flops(expert_parameters(a), "");
    f.mlp += sparse * tokens * of_token;
  }
  f.head = 2.0 * tokens * static_cast<double>(a.hidden) * static_cast<double>(vocab_rows);
  return f;
}

}  // namespace orrery::models
