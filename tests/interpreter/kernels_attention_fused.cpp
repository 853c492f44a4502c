// The fused kernels: a whole row of scores at a time, nothing of size s x s is kept between forward and backward.
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "tests/interpreter/kernels_attention.h"

namespace orrery::interpreter {
namespace {

// One sequence and one query head.
struct HeadOf {
  const AttentionShape& a;
  std::int64_t j, h;
  std::int64_t row(std::int64_t position) const { return position * a.batch + j; }
  std::int64_t q_column() const { return h * a.head_dim; }
  std::int64_t k_column() const { return h / (a.heads / a.kv_heads) * a.head_dim; }
  std::int64_t distance(std::int64_t query, std::int64_t key) const { return a.key_position(key) - a.query_position(query); }
  bool sees(std::int64_t query, std::int64_t key) const { return !a.causal || distance(query, key) <= 0; }
};

double dot(ConstView x, std::int64_t xr, std::int64_t xc, ConstView y, std::int64_t yr, std::int64_t yc,
           std::int64_t n) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < n; ++i) sum += x.at(xr, xc + i) * y.at(yr, yc + i);
  return sum;
}

double score(const HeadOf& head, const Qkv& in, std::int64_t query, std::int64_t key) {
  const AttentionShape& a = head.a;
  const double s =
      dot(in.q, head.row(query), head.q_column(), in.k, head.row(key), head.k_column(), a.head_dim) * a.scale();
  return a.alibi ? s + a.alibi_slope(head.h) * static_cast<double>(head.distance(query, key)) : s;
}

double log_sum_exp(const std::vector<double>& scores) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0.0;
  for (const double s : scores) largest = std::max(largest, s);
  if (std::isinf(largest)) return largest;  // of nothing
  for (const double s : scores) sum += std::exp(s - largest);
  return largest + std::log(sum);
}

double drop(const HeadOf& head, const Dropout& dropout, std::int64_t query, std::int64_t key) {
  if (dropout.probability <= 0.0) return 1.0;
  const AttentionShape& a = head.a;
  const bool kept =
      dropout.keeps_attention(head.j, a.first_head + head.h,
                              a.query_position(query) * a.positions() + a.key_position(key), a.square());
  return kept ? dropout.scale() : 0.0;
}

void forward_row(const HeadOf& head, const Qkv& in, const Dropout& dropout, std::int64_t query, const Output& o,
                 const OptionalOutput& lse) {
  const AttentionShape& a = head.a;
  std::vector<double> scores;
  for (std::int64_t key = 0; key < a.keys(); ++key)
    scores.push_back(head.sees(query, key) ? score(head, in, query, key) : -std::numeric_limits<double>::infinity());
  const double total = log_sum_exp(scores);
  if (lse) lse->put((head.j * a.heads + head.h) * a.sequence + query, total);
  std::vector<double> row(static_cast<std::size_t>(a.head_dim));
  for (std::int64_t key = 0; key < a.keys(); ++key) {
    if (!head.sees(query, key)) continue;
    const double p = std::exp(scores[static_cast<std::size_t>(key)] - total) * drop(head, dropout, query, key);
    for (std::int64_t i = 0; i < a.head_dim; ++i)
      row[static_cast<std::size_t>(i)] += p * in.v.at(head.row(key), head.k_column() + i);
  }
  for (std::int64_t i = 0; i < a.head_dim; ++i)
    o.put(head.row(query), head.q_column() + i, row[static_cast<std::size_t>(i)]);
}

void backward_row(const HeadOf& head, const Qkv& in, const AttentionSaved& saved, const Dropout& dropout,
                  std::int64_t query, const QkvGradients& out) {
  const AttentionShape& a = head.a;
  const std::int64_t row = head.row(query), column = head.q_column(), shared = head.k_column();
  const double total = saved.lse[(head.j * a.heads + head.h) * a.sequence + query];
  // sum over keys of dP P = dout . o, also under dropout, because o was made from the dropped probabilities.
  const double inner = dot(saved.dout, row, column, saved.o, row, column, a.head_dim);
  for (std::int64_t key = 0; key < a.keys(); ++key) {
    if (!head.sees(query, key)) continue;
    const double p = std::exp(score(head, in, query, key) - total);
    const double kept = drop(head, dropout, query, key);
    const double dp = dot(saved.dout, row, column, in.v, head.row(key), shared, a.head_dim) * kept;
    const double ds = p * (dp - inner) * a.scale();
    for (std::int64_t i = 0; i < a.head_dim; ++i) {
      out.dv.view.at(head.row(key), shared + i) += p * kept * saved.dout.at(row, column + i);
      out.dq.view.at(row, column + i) += ds * in.k.at(head.row(key), shared + i);
      out.dk.view.at(head.row(key), shared + i) += ds * in.q.at(row, column + i);
    }
  }
}

void check(const AttentionShape& a, const Qkv& in) {
  const std::int64_t rows = a.batch * a.sequence;
  CHECK(in.q.rows == rows && in.k.rows == a.batch * a.keys() && in.v.rows == in.k.rows, in.q.rows, in.k.rows, in.v.rows, rows);
  CHECK(in.q.columns == a.heads * a.head_dim, in.q.columns, a.heads, a.head_dim);
  CHECK(in.k.columns == a.kv_heads * a.head_dim && in.v.columns == in.k.columns, in.k.columns, in.v.columns);
  CHECK(a.kv_heads > 0 && a.heads % a.kv_heads == 0, a.heads, a.kv_heads);
}

}  // namespace

double AttentionShape::scale() const { return 1.0 / std::sqrt(static_cast<double>(head_dim)); }

double AttentionShape::alibi_slope(std::int64_t local_head) const {
  return std::exp2(-8.0 * static_cast<double>(first_head + local_head + 1) / static_cast<double>(total_heads));
}

void attention_forward(const AttentionShape& a, const Qkv& in, const Dropout& dropout, Output o, OptionalOutput lse) {
  check(a, in);
  CHECK(o.view.rows == in.q.rows && o.view.columns == in.q.columns, o.view.rows, o.view.columns);
  if (lse) CHECK(lse->view.count() == a.batch * a.heads * a.sequence, lse->view.count());
  for (std::int64_t j = 0; j < a.batch; ++j)
    for (std::int64_t h = 0; h < a.heads; ++h)
      for (std::int64_t query = 0; query < a.sequence; ++query)
        forward_row({a, j, h}, in, dropout, query, o, lse);
}

void attention_backward(const AttentionShape& a, const Qkv& in, const AttentionSaved& saved, const Dropout& dropout,
                        const QkvGradients& out) {
  check(a, in);
  CHECK(out.dq.view.columns == in.q.columns && out.dk.view.columns == in.k.columns, out.dq.view.columns);
  for (const Output* gradient : {&out.dq, &out.dk, &out.dv}) gradient->clear();
  for (std::int64_t j = 0; j < a.batch; ++j)
    for (std::int64_t h = 0; h < a.heads; ++h)
      for (std::int64_t query = 0; query < a.sequence; ++query)
        backward_row({a, j, h}, in, saved, dropout, query, out);
}

void attention_merge(const AttentionShape& a, ConstView part, ConstView part_lse, TensorView o, TensorView lse) {
  CHECK(part.rows == a.batch * a.sequence && part.columns == a.heads * a.head_dim, part.rows, part.columns);
  CHECK(lse.count() == a.batch * a.heads * a.sequence && part_lse.count() == lse.count(), lse.count());
  for (std::int64_t j = 0; j < a.batch; ++j)
    for (std::int64_t h = 0; h < a.heads; ++h)
      for (std::int64_t query = 0; query < a.sequence; ++query) {
        const std::int64_t at = (j * a.heads + h) * a.sequence + query, row = query * a.batch + j;
        const double total = log_sum_exp({lse[at], part_lse[at]});
        const double old = std::exp(lse[at] - total), added = std::exp(part_lse[at] - total);
        for (std::int64_t i = h * a.head_dim; i < (h + 1) * a.head_dim; ++i)
          o.at(row, i) = old * o.at(row, i) + added * part.at(row, i);
        lse[at] = total;
      }
}

}  // namespace orrery::interpreter
