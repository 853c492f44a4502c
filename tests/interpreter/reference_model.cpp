#include "tests/interpreter/reference_model.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tests/interpreter/data.h"
#include "tests/interpreter/tape.h"

namespace orrery::interpreter {
namespace {

using models::Architecture;
using models::NormKind;
using models::PositionKind;
using Var = Tape::Var;

Matrix kept_elements(std::int64_t rows, std::int64_t columns, const DropoutKey& key, std::int64_t sequence,
                     std::int64_t first, double probability) {
  Matrix m(rows, columns);
  for (std::int64_t i = 0; i < rows * columns; ++i)
    m.values[static_cast<std::size_t>(i)] =
        keeps(key, sequence, first + i, probability) ? 1.0 / (1.0 - probability) : 0.0;
  return m;
}

// Builds one sequence's forward pass on a tape.
class Forward {
 public:
  Forward(const Architecture& a, const NamedTensors& weights, const ReferenceBatch& batch, std::int64_t sequence)
      : a_(a), batch_(batch), sequence_(sequence) {
    for (const auto& [name, tensor] : weights) leaves_[name] = t_.leaf(tensor);
  }

  double run(double scale) {
    Var x = embed();
    for (std::int64_t l = 0; l < a_.layers; ++l) x = layer(x, l);
    x = normed(x, "head.norm");
    Var logits = t_.multiply_transposed(x, a_.tied_embeddings ? w("embedding.token") : w("head.output"));
    if (a_.head_bias) logits = t_.add_row(logits, w("head.output_bias"));
    const Var loss = t_.cross_entropy(logits, tokens(1));
    t_.backward(loss, scale);
    return t_.value(loss).at(0, 0) * scale;
  }

  void add_gradients(NamedTensors& sums) const {
    for (const auto& [name, leaf] : leaves_) {
      Matrix& sum = sums[name];
      for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += t_.gradient(leaf).values[i];
    }
  }

 private:
  Var w(const std::string& name) const { return leaves_.at(name); }

  std::vector<std::int64_t> tokens(std::int64_t ahead) const {
    std::vector<std::int64_t> all;
    for (std::int64_t p = 0; p < batch_.length; ++p)
      all.push_back(token({batch_.seed, batch_.step, sequence_, p + ahead}, a_.vocab));
    return all;
  }

  Var embed() {
    Var x = t_.pick_rows(w("embedding.token"), tokens(0));
    if (a_.position == PositionKind::learned) {
      std::vector<std::int64_t> positions;
      for (std::int64_t p = 0; p < batch_.length; ++p) positions.push_back(p);
      x = t_.add(x, t_.pick_rows(w("embedding.position"), positions));
    }
    if (a_.embedding_norm) x = normed(x, "embedding.norm");
    return dropped(x, kEmbeddingLayer, batch_.sites.embedding);
  }

  Var normed(Var x, const std::string& name) {
    const bool layer_norm = a_.norm == NormKind::layer_norm;
    Var y = t_.scale_columns(t_.normalise(x, layer_norm, 1e-5), w(name + ".weight"));
    return layer_norm && a_.norm_bias ? t_.add_row(y, w(name + ".bias")) : y;
  }

  Var dropped(Var x, std::int64_t layer, std::int64_t site) {
    if (a_.dropout <= 0.0) return x;
    return t_.mask(x, kept_elements(t_.value(x).rows, t_.value(x).columns, {batch_.seed, batch_.step, layer, site},
                                    sequence_, 0, a_.dropout));
  }

  Var projected(Var x, const std::string& weight, bool bias) {
    const Var y = t_.multiply_transposed(x, w(weight));
    return bias ? t_.add_row(y, w(weight + "_bias")) : y;
  }

  // Rotates the halves of a head: y = x cos + turned(x) sin, turned = (-second, first), as a matrix product.
  Var rotated(Var x) {
    if (a_.position != PositionKind::rotary) return x;
    const std::int64_t d = t_.value(x).columns;
    Matrix cosine(batch_.length, d), sine(batch_.length, d), turn(d, d);
    for (std::int64_t i = 0; i < d; ++i) {
      const std::int64_t pair = i % (d / 2);
      turn.at(i < d / 2 ? i + d / 2 : i - d / 2, i) = i < d / 2 ? -1.0 : 1.0;
      for (std::int64_t p = 0; p < batch_.length; ++p) {
        const double angle =
            static_cast<double>(p) / std::pow(10000.0, 2.0 * static_cast<double>(pair) / static_cast<double>(d));
        cosine.at(p, i) = std::cos(angle);
        sine.at(p, i) = std::sin(angle);
      }
    }
    return t_.add(t_.mask(x, cosine), t_.mask(t_.multiply(x, t_.leaf(turn)), sine));
  }

  Var head_normed(Var x, const std::string& name) {
    return a_.qk_norm ? t_.scale_columns(t_.normalise(x, false, 1e-5), w(name)) : x;
  }

  Matrix score_bias(std::int64_t head) const {
    const double slope = a_.position == PositionKind::alibi
                             ? std::pow(2.0, -8.0 * static_cast<double>(head + 1) / static_cast<double>(a_.heads))
                             : 0.0;
    Matrix bias(batch_.length, batch_.length);
    for (std::int64_t q = 0; q < batch_.length; ++q)
      for (std::int64_t k = 0; k < batch_.length; ++k)
        bias.at(q, k) = k > q ? -std::numeric_limits<double>::infinity() : slope * static_cast<double>(k - q);
    return bias;
  }

  // Latent attention by its definition: one head at a time.
  Var latent_attention(Var x, const std::string& p) {
    const models::LatentAttention& l = a_.latent;
    Var q = x;
    if (l.query_rank > 0) {
      q = t_.multiply_transposed(x, w(p + "query_down"));
      q = t_.scale_columns(t_.normalise(q, false, 1e-5), w(p + "query_down_norm"));
      q = t_.multiply_transposed(q, w(p + "query_up"));
    } else {
      q = t_.multiply_transposed(x, w(p + "query"));
    }
    const Var down = t_.multiply_transposed(x, w(p + "kv_down"));
    const Var shared = rotated(t_.columns(down, l.kv_rank, l.rope_dim));
    const Var latent =
        t_.scale_columns(t_.normalise(t_.columns(down, 0, l.kv_rank), false, 1e-5), w(p + "kv_norm"));
    const Var kv = t_.multiply_transposed(latent, w(p + "kv_up"));
    std::vector<Var> heads;
    for (std::int64_t h = 0; h < a_.heads; ++h) {
      const std::int64_t d = a_.head_dim, at = h * (l.nope_dim + l.value_dim);
      const Var qh = t_.join_columns({t_.columns(q, h * d, l.nope_dim), rotated(t_.columns(q, h * d + l.nope_dim, l.rope_dim))});
      const Var kh = t_.join_columns({t_.columns(kv, at, l.nope_dim), shared});
      const Var scores = t_.scale(t_.multiply_transposed(qh, kh), 1.0 / std::sqrt(static_cast<double>(d)));
      const Var weights = t_.softmax_rows(t_.add_constant(scores, score_bias(h)));
      heads.push_back(t_.multiply(weights, t_.columns(kv, at + l.nope_dim, l.value_dim)));
    }
    return projected(t_.join_columns(heads), p + "out", false);
  }

  Var attention(Var x, const std::string& layer_name, std::int64_t layer) {
    const std::string p = layer_name + ".attention.";
    if (a_.latent.kv_rank > 0) return latent_attention(x, p);
    const Var q = projected(x, p + "query", a_.qkv_bias), k = projected(x, p + "key", a_.qkv_bias),
              v = projected(x, p + "value", a_.qkv_bias);
    const std::int64_t d = a_.head_dim, square = batch_.length * batch_.length;
    std::vector<Var> heads;
    for (std::int64_t h = 0; h < a_.heads; ++h) {
      const std::int64_t shared = h * a_.kv_heads / a_.heads;
      const Var qh = rotated(head_normed(t_.columns(q, h * d, d), p + "query_norm"));
      const Var kh = rotated(head_normed(t_.columns(k, shared * d, d), p + "key_norm"));
      const Var scores = t_.scale(t_.multiply_transposed(qh, kh), 1.0 / std::sqrt(static_cast<double>(d)));
      Var weights = t_.softmax_rows(t_.add_constant(scores, score_bias(h)));
      if (a_.dropout > 0.0)
        weights = t_.mask(weights,
                          kept_elements(batch_.length, batch_.length,
                                        {batch_.seed, batch_.step, layer, batch_.sites.attention}, sequence_,
                                        h * square, a_.dropout));
      heads.push_back(t_.multiply(weights, t_.columns(v, shared * d, d)));
    }
    Var out = projected(t_.join_columns(heads), p + "out", a_.attention_out_bias);
    if (a_.post_norms) out = normed(out, layer_name + ".post_norm1");
    return dropped(out, layer, batch_.sites.attention_out);
  }

  Var mlp_of(Var x, const std::string& p) {
    const Var up = projected(x, p + "up", a_.mlp_bias);
    Var y = up;
    if (models::gated(a_.activation))
      y = t_.hadamard(t_.activate(projected(x, p + "gate", a_.mlp_bias), a_.activation), up);
    else
      y = t_.activate(up, a_.activation);
    return projected(y, p + "down", a_.mlp_bias);
  }

  // 1 where a token chooses the expert: of the best groups, the best top_k.
  Matrix choices(const Matrix& scores) const {
    const models::Experts& e = a_.experts;
    Matrix picked(scores.rows, scores.columns);
    const std::int64_t size = e.count / e.groups;
    for (std::int64_t t = 0; t < scores.rows; ++t) {
      const auto place = [&](const std::vector<double>& values, std::size_t i) {  // how many are before it
        std::int64_t before = 0;
        for (std::size_t k = 0; k < values.size(); ++k) before += values[k] > values[i] || (values[k] == values[i] && k < i);
        return before;
      };
      std::vector<double> group_scores, allowed;
      for (std::int64_t g = 0; g < e.groups; ++g) {
        double best = -1e9, second = -1e9;
        for (std::int64_t i = g * size; i < (g + 1) * size; ++i) {
          const double s = scores.at(t, i);
          if (s > best) second = best, best = s;
          else second = std::max(second, s);
        }
        group_scores.push_back(e.router == models::RouterKind::sigmoid && size > 1 ? best + second : best);
      }
      for (std::int64_t i = 0; i < e.count; ++i)
        allowed.push_back(place(group_scores, static_cast<std::size_t>(i / size)) < e.top_groups ? scores.at(t, i) : -1e9);
      for (std::int64_t i = 0; i < e.count; ++i)
        picked.at(t, i) = place(allowed, static_cast<std::size_t>(i)) < e.top_k ? 1.0 : 0.0;
    }
    return picked;
  }

  // Every expert computes every token, and the weights of those that were not chosen are 0.
  Var experts(Var x, const std::string& layer_name) {
    const models::Experts& e = a_.experts;
    const Var logits = t_.multiply_transposed(x, w(layer_name + ".router"));
    const bool sigmoid = e.router == models::RouterKind::sigmoid;
    const Var scores = sigmoid ? t_.sigmoid(logits) : t_.softmax_rows(logits);
    Matrix biased = t_.value(scores);
    if (e.correction_bias)
      for (std::int64_t t = 0; t < biased.rows; ++t)
        for (std::int64_t i = 0; i < e.count; ++i)
          biased.at(t, i) += t_.value(w(layer_name + ".router_correction")).at(i, 0);
    Var weights = t_.mask(scores, choices(biased));
    if (e.normalized) weights = t_.share_of_row(weights);
    weights = t_.scale(weights, e.scale);
    Var sum = e.shared_ffn_hidden > 0 ? mlp_of(x, layer_name + ".mlp.") : t_.scale(x, 0.0);
    for (std::int64_t i = 0; i < e.count; ++i)
      sum = t_.add(sum, t_.scale_rows(mlp_of(x, fmt::format("{}.expert{}.", layer_name, i)), t_.columns(weights, i, 1)));
    return sum;
  }

  Var mlp(Var x, const std::string& layer_name, std::int64_t layer) {
    Var out = models::is_expert_layer(a_, layer) ? experts(x, layer_name) : mlp_of(x, layer_name + ".mlp.");
    if (a_.post_norms) out = normed(out, layer_name + ".post_norm2");
    return dropped(out, layer, batch_.sites.mlp);
  }

  Var layer(Var x, std::int64_t l) {
    const std::string name = fmt::format("layer{}", l);
    const Var first = normed(x, name + ".norm1");
    const Var attended = attention(first, name, l);
    if (a_.parallel_block) {
      const Var second = a_.shared_norm ? first : normed(x, name + ".norm2");
      return t_.add(t_.add(x, attended), mlp(second, name, l));
    }
    const Var middle = t_.add(x, attended);
    return t_.add(middle, mlp(normed(middle, name + ".norm2"), name, l));
  }

  const Architecture& a_;
  const ReferenceBatch& batch_;
  std::int64_t sequence_;
  Tape t_;
  std::map<std::string, Var> leaves_;
};

NamedTensors zeros_like(const NamedTensors& tensors) {
  NamedTensors zeros;
  for (const auto& [name, tensor] : tensors) zeros.emplace(name, Matrix(tensor.rows, tensor.columns));
  return zeros;
}

}  // namespace

NamedTensors initial_weights(const Architecture& a, std::int64_t vocab_rows, std::int64_t seed) {
  NamedTensors all;
  const auto add = [&](const std::string& prefix, const std::vector<models::Parameter>& parameters) {
    for (const models::Parameter& p : parameters) {
      Matrix m(p.rows, p.columns);
      for (std::int64_t r = 0; r < p.rows; ++r)
        for (std::int64_t c = 0; c < p.columns; ++c) m.at(r, c) = initial_weight(prefix + p.name, r, c, seed);
      all.emplace(prefix + p.name, std::move(m));
    }
  };
  add("embedding.", models::embedding_parameters(a, vocab_rows));
  for (std::int64_t l = 0; l < a.layers; ++l) {
    const bool sparse = models::is_expert_layer(a, l);
    add(fmt::format("layer{}.", l), sparse ? models::expert_layer_parameters(a) : models::layer_parameters(a));
    for (std::int64_t e = 0; sparse && e < a.experts.count; ++e)
      add(fmt::format("layer{}.expert{}.", l, e), models::expert_parameters(a));
  }
  add("head.", models::head_parameters(a, vocab_rows));
  return all;
}

ReferenceResult reference_loss(const Architecture& a, const NamedTensors& weights, const ReferenceBatch& batch) {
  ReferenceResult result{.loss = 0.0, .gradients = zeros_like(weights)};
  const double scale = 1.0 / static_cast<double>(batch.sequences * batch.length);
  for (std::int64_t s = 0; s < batch.sequences; ++s) {
    Forward forward(a, weights, batch, s);
    result.loss += forward.run(scale);
    forward.add_gradients(result.gradients);
  }
  return result;
}

void reference_step(NamedTensors& weights, const NamedTensors& gradients, ReferenceMoments& moments,
                    const schedule::Hyper& hyper, ReferenceOptimizer optimizer, std::int64_t step) {
  if (moments.first.empty()) moments = {zeros_like(weights), zeros_like(weights)};
  const double length = norm(gradients);
  const double limit = hyper.clip_gradient_norm;
  const double factor = limit > 0.0 && length + 1e-6 > limit ? limit / (length + 1e-6) : 1.0;
  const auto t = static_cast<double>(step);
  for (auto& [name, weight] : weights) {
    const double decay = weight.columns > 1 ? hyper.weight_decay : 0.0;
    for (std::size_t i = 0; i < weight.values.size(); ++i) {
      const double g = gradients.at(name).values[i] * factor;
      double& m = moments.first.at(name).values[i];
      double& v = moments.second.at(name).values[i];
      double change = g;
      if (optimizer == ReferenceOptimizer::sgd_momentum) change = m = hyper.beta1 * m + g;
      if (optimizer == ReferenceOptimizer::adam) {
        m += (1.0 - hyper.beta1) * (g - m);
        v += (1.0 - hyper.beta2) * (g * g - v);
        change = m / (1.0 - std::pow(hyper.beta1, t)) /
                 (std::sqrt(v / (1.0 - std::pow(hyper.beta2, t))) + hyper.epsilon);
      }
      weight.values[i] -= hyper.learning_rate * (change + decay * weight.values[i]);
    }
  }
}

double norm(const Matrix& matrix) {
  double sum = 0.0;
  for (const double v : matrix.values) sum += v * v;
  return std::sqrt(sum);
}

double norm(const NamedTensors& tensors) {
  double sum = 0.0;
  for (const auto& [name, tensor] : tensors) sum += norm(tensor) * norm(tensor);
  return std::sqrt(sum);
}

double distance(const Matrix& a, const Matrix& b) {
  if (a.rows != b.rows || a.columns != b.columns) return std::numeric_limits<double>::infinity();
  Matrix difference = a;
  for (std::size_t i = 0; i < a.values.size(); ++i) difference.values[i] -= b.values[i];
  return norm(difference);
}

}  // namespace orrery::interpreter
