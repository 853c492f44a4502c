// Attention as separate kernels with the s x s matrices in memory, and rotary positions.
#include <cmath>
#include <vector>

#include "base/check.h"
#include "tests/interpreter/kernels_attention.h"

namespace orrery::interpreter {
namespace {

// Calls visit(row of the query, row of the key, column of the query head, column of the key head, index of the
// score) for every pair; masked pairs included, since a batched GEMM computes them too.
template <typename Visit>
void for_each_score(const AttentionShape& a, Visit&& visit) {
  for (std::int64_t j = 0; j < a.batch; ++j)
    for (std::int64_t h = 0; h < a.heads; ++h)
      for (std::int64_t query = 0; query < a.sequence; ++query)
        for (std::int64_t key = 0; key < a.sequence; ++key)
          visit(query * a.batch + j, key * a.batch + j, h * a.head_dim, h / (a.heads / a.kv_heads) * a.head_dim,
                (j * a.heads + h) * a.square() + query * a.sequence + key);
}

void check_scores(const AttentionShape& a, std::int64_t count) {
  CHECK(count == a.batch * a.heads * a.square(), count, a.batch, a.heads, a.sequence);
}

// y[score] = factor * (row of x) . (row of z)
void outer(const AttentionShape& a, ConstView x, ConstView z, double factor, const Output& y) {
  check_scores(a, y.view.count());
  for_each_score(a, [&](auto qr, auto kr, auto qc, auto kc, auto score) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < a.head_dim; ++i) sum += x.at(qr, qc + i) * z.at(kr, kc + i);
    y.put(score, sum * factor);
  });
}

}  // namespace

void attention_scores(const AttentionShape& a, ConstView q, ConstView k, Output y) { outer(a, q, k, a.scale(), y); }

void attention_dprobabilities(const AttentionShape& a, ConstView dout, ConstView v, Output dx) {
  outer(a, dout, v, 1.0, dx);
}

void softmax_forward(const AttentionShape& a, ConstView x, Output y) {
  check_scores(a, x.count());
  std::vector<double> row(static_cast<std::size_t>(a.sequence));
  for (std::int64_t first = 0; first < x.count(); first += a.sequence) {
    const std::int64_t query = first / a.sequence % a.sequence, head = first / a.square() % a.heads;
    const std::int64_t keys = a.causal ? query + 1 : a.sequence;
    double largest = -1e300, sum = 0.0;
    for (std::int64_t key = 0; key < keys; ++key) {
      const double bias = a.alibi ? a.alibi_slope(head) * static_cast<double>(key - query) : 0.0;
      row[static_cast<std::size_t>(key)] = x[first + key] + bias;
      largest = std::max(largest, row[static_cast<std::size_t>(key)]);
    }
    for (std::int64_t key = 0; key < keys; ++key) {
      double& value = row[static_cast<std::size_t>(key)];
      value = std::exp(value - largest);
      sum += value;
    }
    for (std::int64_t key = 0; key < a.sequence; ++key)
      y.put(first + key, key < keys ? row[static_cast<std::size_t>(key)] / sum : 0.0);
  }
}

void softmax_backward(const AttentionShape& a, ConstView y, ConstView dy, Output dx) {
  check_scores(a, y.count());
  for (std::int64_t first = 0; first < y.count(); first += a.sequence) {
    double inner = 0.0;
    for (std::int64_t key = 0; key < a.sequence; ++key) inner += y[first + key] * dy[first + key];
    for (std::int64_t key = 0; key < a.sequence; ++key)
      dx.put(first + key, y[first + key] * (dy[first + key] - inner));
  }
}

void attention_context(const AttentionShape& a, ConstView x, ConstView v, Output o) {
  check_scores(a, x.count());
  o.clear();
  for_each_score(a, [&](auto qr, auto kr, auto qc, auto kc, auto score) {
    for (std::int64_t i = 0; i < a.head_dim; ++i) o.view.at(qr, qc + i) += x[score] * v.at(kr, kc + i);
  });
}

void attention_dvalue(const AttentionShape& a, ConstView x, ConstView dout, Output dv) {
  check_scores(a, x.count());
  dv.clear();
  for_each_score(a, [&](auto qr, auto kr, auto qc, auto kc, auto score) {
    for (std::int64_t i = 0; i < a.head_dim; ++i) dv.view.at(kr, kc + i) += x[score] * dout.at(qr, qc + i);
  });
}

void attention_dquery(const AttentionShape& a, ConstView x, ConstView k, Output dq) {
  check_scores(a, x.count());
  dq.clear();
  for_each_score(a, [&](auto qr, auto kr, auto qc, auto kc, auto score) {
    for (std::int64_t i = 0; i < a.head_dim; ++i) dq.view.at(qr, qc + i) += x[score] * k.at(kr, kc + i) * a.scale();
  });
}

void attention_dkey(const AttentionShape& a, ConstView x, ConstView q, Output dk) {
  check_scores(a, x.count());
  dk.clear();
  for_each_score(a, [&](auto qr, auto kr, auto qc, auto kc, auto score) {
    for (std::int64_t i = 0; i < a.head_dim; ++i) dk.view.at(kr, kc + i) += x[score] * q.at(qr, qc + i) * a.scale();
  });
}

void rotary(TensorView x, std::int64_t batch, std::int64_t head_dim, double direction,
            const std::vector<std::int64_t>& rows) {
  CHECK(head_dim % 2 == 0 && x.columns % head_dim == 0, x.columns, head_dim);
  const std::int64_t half = head_dim / 2;
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t head = 0; head < x.columns; head += head_dim)
      for (std::int64_t i = 0; i < half; ++i) {
        const double frequency = std::pow(10000.0, -static_cast<double>(2 * i) / static_cast<double>(head_dim));
        const std::int64_t row = rows.empty() ? r : rows[static_cast<std::size_t>(r)];
        const double angle = direction * static_cast<double>(row / batch) * frequency;
        double& first = x.at(r, head + i);
        double& second = x.at(r, head + half + i);
        const double a = first * std::cos(angle) - second * std::sin(angle);
        second = second * std::cos(angle) + first * std::sin(angle);
        first = a;
      }
}

}  // namespace orrery::interpreter
