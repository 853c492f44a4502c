// The meaning of the fused kernels: one query and one key at a time, in double.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/attention/fused_attention.h"
#include "kernels/cpu/attention/reference_put.h"
#include "kernels/random.h"

namespace orrery::kernels::reference {

// One sequence and one query head; T is the type of the operands.
template <typename T>
struct Head {
  const AttentionShape& a;
  const AttentionInput<T>& in;
  const AttentionDropout& dropout;
  std::int64_t j, head;

  std::int64_t row(std::int64_t position) const { return position * a.batch + j; }
  std::int64_t q_column(std::int64_t i) const { return head * a.head_dim + i; }
  std::int64_t k_column(std::int64_t i) const { return head / a.group() * a.head_dim + i; }
  double q(std::int64_t query, std::int64_t i) const { return value(in.q, row(query), q_column(i)); }
  double k(std::int64_t key, std::int64_t i) const { return value(in.k, row(key), k_column(i)); }
  double v(std::int64_t key, std::int64_t i) const { return value(in.v, row(key), k_column(i)); }
  static std::int64_t position(std::span<const PositionRun> runs, std::int64_t row) {
    for (const PositionRun& run : runs)
      if (row >= run.row && row < run.row + run.count) return run.position + row - run.row;
    return row;
  }
  std::int64_t distance(std::int64_t query, std::int64_t key) const {
    return position(a.key_runs, key) - position(a.query_runs, query);
  }
  bool sees(std::int64_t query, std::int64_t key) const { return !a.causal || distance(query, key) <= 0; }
  double score(std::int64_t query, std::int64_t key) const {
    double dot = 0.0;
    for (std::int64_t i = 0; i < a.head_dim; ++i) dot += q(query, i) * k(key, i);
    return dot * a.scale() + (a.alibi ? a.alibi_slope(head) * static_cast<double>(distance(query, key)) : 0.0);
  }
  // -infinity where the query sees no key.
  double log_sum_exp(std::int64_t query) const {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (std::int64_t key = 0; key < a.key_count(); ++key)
      if (sees(query, key)) largest = std::max(largest, score(query, key));
    for (std::int64_t key = 0; key < a.key_count(); ++key)
      if (sees(query, key)) sum += std::exp(score(query, key) - largest);
    return largest + std::log(sum);
  }
  // 1 / (1 - p), or 0 where dropped.
  double kept(std::int64_t query, std::int64_t key) const {
    if (!dropout.drops()) return 1.0;
    const auto element = static_cast<std::uint64_t>(AttentionDropout::element(
        a, head, position(a.query_runs, query), position(a.key_runs, key)));
    return draw(dropout.keys[j], element) < drop_threshold(dropout.probability) ? 0.0 : dropout.scale();
  }
};

template <typename T>
void attention_forward(const AttentionShape& a, const AttentionInput<T>& in, const AttentionDropout& dropout,
                       Out<T> o, Out<Wide<T>> lse) {
  for (std::int64_t j = 0; j < a.batch; ++j)
    for (std::int64_t h = 0; h < a.heads; ++h)
      for (std::int64_t query = 0; query < a.sequence; ++query) {
        const Head<T> head{a, in, dropout, j, h};
        const double total = head.log_sum_exp(query);
        if (lse.exists()) put(lse, j * a.heads + h, query, total);
        std::vector<double> row(static_cast<std::size_t>(a.head_dim));
        for (std::int64_t key = 0; key < a.key_count(); ++key) {
          if (!head.sees(query, key)) continue;
          const double p = std::exp(head.score(query, key) - total) * head.kept(query, key);
          for (std::int64_t i = 0; i < a.head_dim; ++i)
            row[static_cast<std::size_t>(i)] += p * head.v(key, i);
        }
        for (std::int64_t i = 0; i < a.head_dim; ++i)
          put(o, head.row(query), head.q_column(i), row[static_cast<std::size_t>(i)]);
      }
}

// Gradients summed in double before they are put.
struct GradientSums {
  std::vector<double> dq, dk, dv;  // [T x columns]
};

template <typename T>
void add_query(const Head<T>& head, const AttentionSaved<T>& saved, std::int64_t query, GradientSums& sums) {
  const AttentionShape& a = head.a;
  const auto at = [&](std::int64_t position, std::int64_t heads, std::int64_t column) {
    return static_cast<std::size_t>(head.row(position) * heads * a.head_dim + column);
  };
  const auto dout = [&](std::int64_t i) { return value(saved.dout, head.row(query), head.q_column(i)); };
  const double total = static_cast<double>(saved.lse.at(head.j * a.heads + head.head, query));
  double inner = 0.0;
  for (std::int64_t i = 0; i < a.head_dim; ++i)
    inner += dout(i) * value(saved.o, head.row(query), head.q_column(i));
  for (std::int64_t key = 0; key < a.key_count(); ++key) {
    if (!head.sees(query, key)) continue;
    const double p = std::exp(head.score(query, key) - total), kept = head.kept(query, key);
    double dp = 0.0;
    for (std::int64_t i = 0; i < a.head_dim; ++i) dp += dout(i) * head.v(key, i) * kept;
    const double ds = p * (dp - inner) * a.scale();
    for (std::int64_t i = 0; i < a.head_dim; ++i) {
      sums.dq[at(query, a.heads, head.q_column(i))] += ds * head.k(key, i);
      sums.dk[at(key, a.kv_heads, head.k_column(i))] += ds * head.q(query, i);
      sums.dv[at(key, a.kv_heads, head.k_column(i))] += p * kept * dout(i);
    }
  }
}

template <typename T>
void put_all(const std::vector<double>& sums, Out<T> out) {
  for (std::int64_t r = 0; r < out.view.rows; ++r)
    for (std::int64_t c = 0; c < out.view.columns; ++c)
      put(out, r, c, sums[static_cast<std::size_t>(r * out.view.columns + c)]);
}

template <typename T>
void attention_backward(const AttentionShape& a, const AttentionInput<T>& in, const AttentionSaved<T>& saved,
                        const AttentionDropout& dropout, const AttentionGradients<T>& out) {
  GradientSums sums;
  sums.dq.resize(static_cast<std::size_t>(in.q.count()));
  sums.dk.resize(static_cast<std::size_t>(in.k.count()));
  sums.dv.resize(static_cast<std::size_t>(in.v.count()));
  for (std::int64_t j = 0; j < a.batch; ++j)
    for (std::int64_t h = 0; h < a.heads; ++h)
      for (std::int64_t query = 0; query < a.sequence; ++query)
        add_query(Head<T>{a, in, dropout, j, h}, saved, query, sums);
  put_all(sums.dq, out.dq);
  put_all(sums.dk, out.dk);
  put_all(sums.dv, out.dv);
}

}  // namespace orrery::kernels::reference
