// Operands of attention tests: random tensors in rows that are longer than their columns, cases of shapes,
// and the comparison of a kernel with its reference.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernels/cpu/attention/fused_attention.h"

namespace orrery::kernels {

// rows x columns in a buffer of `stride` columns; what lies between is never touched.
template <typename T>
class Tensor {
 public:
  Tensor(std::int64_t rows, std::int64_t columns, std::int64_t gap = 3)
      : values_(static_cast<std::size_t>(rows * (columns + gap))),
        rows_(rows),
        columns_(columns),
        stride_(columns + gap) {}
  static Tensor random(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    Tensor t(rows, columns);
    const RandomStream stream(
        {.seed = seed, .purpose = DrawPurpose::data, .step = 0, .layer = 0, .microbatch = 0});
    for (std::size_t i = 0; i < t.values_.size(); ++i)
      t.values_[i] = narrow<T>(static_cast<Wide<T>>(stream.normal(i)));
    return t;
  }
  Matrix<T> view() { return {values_.data(), rows_, columns_, stride_}; }
  In<T> in() { return view(); }
  Out<T> write() { return {view(), false}; }
  Out<T> add() { return {view(), true}; }
  Out<T> out(bool adds) { return {view(), adds}; }
  // Columns [first, first + count).
  Matrix<T> part(std::int64_t first, std::int64_t count) {
    return {values_.data() + first, rows_, count, stride_};
  }
  std::vector<T>& values() { return values_; }

 private:
  std::vector<T> values_;
  std::int64_t rows_, columns_, stride_;
};

// How far one rounding to T moves a number, relative to it.
template <typename T>
inline constexpr double kRounding = 0x1p-53;
template <>
inline constexpr double kRounding<float> = 0x1p-24;
template <>
inline constexpr double kRounding<bf16> = 0x1p-8;
template <>
inline constexpr double kRounding<fp16> = 0x1p-11;

// Every element of `actual` is within rounding to T of `expected`, plus `tolerance` of the largest expected
// one: sums in Wide<T> err by that. Both were rounded, hence 2.
template <typename T>
void expect_close(Matrix<T> actual, Matrix<T> expected, double tolerance, const std::string& what) {
  double largest = 0.0, worst = 0.0;
  const auto number = [](T x) { return static_cast<double>(widen(x)); };
  for (std::int64_t r = 0; r < expected.rows; ++r)
    for (std::int64_t c = 0; c < expected.columns; ++c)
      largest = std::max(largest, std::abs(number(expected.at(r, c))));
  for (std::int64_t r = 0; r < expected.rows; ++r)
    for (std::int64_t c = 0; c < expected.columns; ++c) {
      const double e = number(expected.at(r, c)), off = std::abs(number(actual.at(r, c)) - e);
      const double excess = off - 2.0 * kRounding<T> * std::abs(e);
      if (std::isnan(off)) worst = std::numeric_limits<double>::infinity();
      worst = std::max(worst, excess);
    }
  EXPECT_LE(worst, tolerance * std::max(largest, 0.1))
      << what << ": worst error, of numbers up to " << largest;
}

template <typename T>
inline constexpr double kSumTolerance = 1e-5;
template <>
inline constexpr double kSumTolerance<double> = 1e-13;

struct AttentionCase {
  AttentionShape shape;
  double dropout = 0.0;
  bool adds = false;

  std::string name() const {
    const AttentionShape& a = shape;
    return "s " + std::to_string(a.sequence) + " d " + std::to_string(a.head_dim) + " heads " +
           std::to_string(a.heads) + "/" + std::to_string(a.kv_heads) + " batch " + std::to_string(a.batch) +
           (a.causal ? " causal" : "") + (a.alibi ? " alibi" : "") + (dropout > 0.0 ? " dropout" : "") +
           (adds ? " adds" : "");
  }
};

// Case i of many: sequence and head_dim as given, everything else in turns of different length.
inline AttentionCase numbered_case(std::int64_t i, std::int64_t sequence, std::int64_t head_dim) {
  struct Heads {
    std::int64_t query, key;
  };
  static constexpr Heads kHeads[] = {{1, 1}, {4, 2}, {3, 3}, {3, 1}, {6, 2}};
  const Heads heads = kHeads[i % 5];
  AttentionCase c;
  c.shape = {.batch = 1 + i % 3,
             .sequence = sequence,
             .heads = heads.query,
             .kv_heads = heads.key,
             .head_dim = head_dim,
             .causal = i % 4 != 1,
             .alibi = i % 7 >= 4,
             .first_head = i % 2 * heads.query,
             .total_heads = 2 * heads.query};
  c.dropout = i % 8 >= 5 ? 0.3 : 0.0;
  c.adds = i % 9 >= 6;
  return c;
}

inline std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> cases;
  const auto add = [&](std::int64_t sequence, std::int64_t head_dim) {
    cases.push_back(numbered_case(static_cast<std::int64_t>(cases.size()), sequence, head_dim));
  };
  for (const std::int64_t d : {4, 6, 8, 16, 17, 40, 64, 80, 96, 128}) add(50, d);
  std::int64_t d = 4;
  for (const std::int64_t s :
       {1, 2, 3, 5, 6, 7, 8, 15, 16, 17, 31, 47, 48, 49, 64, 95, 96, 97, 101, 143, 144, 145, 191, 200}) {
    add(s, d);
    d = d >= 24 ? 4 : d + 6;
  }
  return cases;
}

// q, k, v in one buffer, as views into it; sequence keys of dropout.
template <typename T>
struct Operands {
  explicit Operands(const AttentionCase& c)
      : shape(c.shape),
        qkv(Tensor<T>::random(rows(), (c.shape.heads + 2 * c.shape.kv_heads) * c.shape.head_dim, 1)),
        dout(Tensor<T>::random(rows(), c.shape.heads * c.shape.head_dim, 2)),
        keys{0x123456789abcdefULL, 77, 0xffffffffffffffffULL},
        dropout{c.dropout, keys.data()} {}

  std::int64_t rows() const { return shape.batch * shape.sequence; }
  std::int64_t q_columns() const { return shape.heads * shape.head_dim; }
  std::int64_t k_columns() const { return shape.kv_heads * shape.head_dim; }
  std::int64_t score_rows() const { return shape.batch * shape.heads * shape.sequence; }
  AttentionInput<T> input() { return {q_of(qkv), k_of(qkv), v_of(qkv)}; }
  AttentionGradients<T> gradients(Tensor<T>& dqkv, bool adds) {
    return {{q_of(dqkv), adds}, {k_of(dqkv), adds}, {v_of(dqkv), adds}};
  }
  Matrix<T> q_of(Tensor<T>& t) { return t.part(0, q_columns()); }
  Matrix<T> k_of(Tensor<T>& t) { return t.part(q_columns(), k_columns()); }
  Matrix<T> v_of(Tensor<T>& t) { return t.part(q_columns() + k_columns(), k_columns()); }

  AttentionShape shape;
  Tensor<T> qkv, dout;
  std::vector<std::uint64_t> keys;
  AttentionDropout dropout;
};

}  // namespace orrery::kernels
