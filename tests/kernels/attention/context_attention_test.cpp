// Attention over parts of a sequence: kernels against their reference at any positions, parts merged against the whole,
// gradients of parts added up against those of the whole, and as derivatives of the forward.
#include <gtest/gtest.h>

#include "kernels/cpu/attention/fused_attention_reference.h"
#include "kernels/cpu/attention/merge.h"
#include "tests/kernels/attention/attention_operands.h"

namespace orrery::kernels {
namespace {

template <typename T>
class ContextAttentionTest : public testing::Test {};
using Types = testing::Types<float, double, bf16, fp16>;
TYPED_TEST_SUITE(ContextAttentionTest, Types);

// Member `i` of a ring of n: chunks i and 2 n - 1 - i, the parts of whole / 2 n positions.
std::vector<PositionRun> zig_zag(std::int64_t i, std::int64_t n, std::int64_t whole, std::int64_t first_row = 0) {
  const std::int64_t chunk = whole / (2 * n);
  return {{first_row, chunk, i * chunk}, {first_row + chunk, chunk, (2 * n - 1 - i) * chunk}};
}

struct Part {
  AttentionCase c;
  std::vector<PositionRun> queries, keys;
  void use() {
    c.shape.query_runs = queries;
    c.shape.key_runs = keys;
  }
};

// Queries of member i of a ring of n, keys of member j.
Part part_of(const AttentionCase& whole, std::int64_t i, std::int64_t j, std::int64_t n) {
  Part part{whole, zig_zag(i, n, whole.shape.sequence), zig_zag(j, n, whole.shape.sequence)};
  part.c.shape.positions = whole.shape.sequence;
  part.c.shape.sequence = whole.shape.sequence / n;
  return part;
}

TYPED_TEST(ContextAttentionTest, PartsAreTheReference) {
  using T = TypeParam;
  std::int64_t number = 0;
  for (const std::int64_t whole : {4, 12, 60, 200, 388})
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t j = 0; j < 2; ++j) {
        Part part = part_of(numbered_case(number++, whole, 12), i, j, 2);
        part.use();
        Operands<T> x(part.c);
        Tensor<T> o(x.rows(), x.q_columns()), expected_o = o;
        Tensor<Wide<T>> lse(part.c.shape.batch * part.c.shape.heads, part.c.shape.sequence), expected_lse = lse;
        attention_forward(part.c.shape, x.input(), x.dropout, o.write(), lse.write());
        reference::attention_forward(part.c.shape, x.input(), x.dropout, expected_o.write(), expected_lse.write());
        expect_close(o.view(), expected_o.view(), kSumTolerance<T>, part.c.name() + " o");
        for (std::int64_t r = 0; r < lse.view().rows; ++r)
          for (std::int64_t q = 0; q < lse.view().columns; ++q) {
            const double e = static_cast<double>(expected_lse.view().at(r, q)), a = static_cast<double>(lse.view().at(r, q));
            if (std::isinf(e)) {
              ASSERT_EQ(a, e) << part.c.name();
            } else {
              ASSERT_NEAR(a, e, 1e-3) << part.c.name();
            }
          }
      }
}

// Every query sees the keys of its own member at least, so lse of all keys is finite.
TYPED_TEST(ContextAttentionTest, BackwardOfPartsIsTheReference) {
  using T = TypeParam;
  std::int64_t number = 3;
  for (const std::int64_t whole : {8, 60, 200})
    for (std::int64_t j = 0; j < 2; ++j) {
      Part part = part_of(numbered_case(number++, whole, 12), 1, j, 2);
      part.use();
      Operands<T> x(part.c);
      Tensor<T> o = Tensor<T>::random(x.rows(), x.q_columns(), 9);
      Tensor<Wide<T>> lse(part.c.shape.batch * part.c.shape.heads, part.c.shape.sequence);
      for (auto& value : lse.values()) value = Wide<T>{3};  // of other keys, too
      auto gradients = Tensor<T>::random(x.rows(), x.q_columns() + 2 * x.k_columns(), 5), expected = gradients;
      const AttentionSaved<T> saved{x.dout.in(), o.in(), lse.in()};
      attention_backward(part.c.shape, x.input(), saved, x.dropout, x.gradients(gradients, part.c.adds));
      reference::attention_backward(part.c.shape, x.input(), saved, x.dropout, x.gradients(expected, part.c.adds));
      expect_close(gradients.view(), expected.view(), 4 * kSumTolerance<T>, part.c.name());
    }
}

// A ring of n in one place: each member's queries over every member's keys.
struct Ring {
  AttentionCase whole;
  std::int64_t n;
  Operands<double> x{whole};

  std::int64_t rows() const { return x.rows() / n; }
  // Rows of the member, gathered from a tensor of the whole sequence.
  Tensor<double> of_member(Tensor<double>& all, std::int64_t i) const {
    Tensor<double> part(rows(), all.view().columns);
    for_each_row(i, [&](std::int64_t row, std::int64_t whole_row) {
      std::copy_n(all.view().row(whole_row), all.view().columns, part.view().row(row));
    });
    return part;
  }
  void add_to(Tensor<double>& all, Tensor<double>& part, std::int64_t i) const {
    for_each_row(i, [&](std::int64_t row, std::int64_t whole_row) {
      for (std::int64_t c = 0; c < all.view().columns; ++c) all.view().at(whole_row, c) += part.view().at(row, c);
    });
  }
  template <typename Visit>
  void for_each_row(std::int64_t i, Visit&& visit) const {
    const std::int64_t batch = whole.shape.batch;
    for (const PositionRun& run : zig_zag(i, n, whole.shape.sequence))
      for (std::int64_t r = 0; r < run.count * batch; ++r) visit(run.row * batch + r, run.position * batch + r);
  }
};

struct Merged {
  Tensor<double> o, lse;
};

Merged merged(Ring& ring, std::int64_t i) {
  Operands<double>& x = ring.x;
  const AttentionShape& a = ring.whole.shape;
  Tensor<double> mine = ring.of_member(x.qkv, i);
  Merged m{Tensor<double>(ring.rows(), x.q_columns()), Tensor<double>(a.batch * a.heads, a.sequence / ring.n)};
  for (std::int64_t step = 0; step < ring.n; ++step) {
    Part part = part_of(ring.whole, i, (i - step + ring.n) % ring.n, ring.n);
    part.use();
    Tensor<double> theirs = ring.of_member(x.qkv, (i - step + ring.n) % ring.n);
    const AttentionInput<double> in{x.q_of(mine), x.k_of(theirs), x.v_of(theirs)};
    if (step == 0) {
      attention_forward(part.c.shape, in, x.dropout, m.o.write(), m.lse.write());
      continue;
    }
    Tensor<double> o(ring.rows(), x.q_columns()), lse(a.batch * a.heads, a.sequence / ring.n);
    attention_forward(part.c.shape, in, x.dropout, o.write(), lse.write());
    attention_merge<double>(part.c.shape, o.in(), lse.in(), m.o.view(), m.lse.view());
  }
  return m;
}

AttentionCase ring_case(std::int64_t i, std::int64_t sequence) {
  AttentionCase c = numbered_case(i, sequence, 6);
  c.adds = false;
  return c;
}

TEST(RingAttention, MergedPartsAreTheWhole) {
  for (std::int64_t i = 0; i < 16; ++i)
    for (const std::int64_t n : {2, 3, 4}) {
      Ring ring{ring_case(i, 2 * n * (1 + i)), n};
      Tensor<double> o(ring.x.rows(), ring.x.q_columns());
      attention_forward(ring.whole.shape, ring.x.input(), ring.x.dropout, o.write(), {});
      for (std::int64_t member = 0; member < n; ++member) {
        Merged m = merged(ring, member);
        Tensor<double> expected = ring.of_member(o, member);
        expect_close(m.o.view(), expected.view(), 1e-12, ring.whole.name());
      }
    }
}

TEST(RingAttention, GradientsOfPartsAddUpToThoseOfTheWhole) {
  for (std::int64_t i = 0; i < 16; ++i) {
    const std::int64_t n = 2 + i % 3;
    Ring ring{ring_case(i, 2 * n * (1 + i)), n};
    Operands<double>& x = ring.x;
    const AttentionShape& a = ring.whole.shape;
    Tensor<double> o(x.rows(), x.q_columns()), lse(a.batch * a.heads, a.sequence);
    Tensor<double> expected(x.rows(), x.q_columns() + 2 * x.k_columns()), sum = expected;
    attention_forward(a, x.input(), x.dropout, o.write(), lse.write());
    attention_backward(a, x.input(), {x.dout.in(), o.in(), lse.in()}, x.dropout, x.gradients(expected, false));
    for (std::int64_t member = 0; member < n; ++member) {
      Merged m = merged(ring, member);
      Tensor<double> mine = ring.of_member(x.qkv, member), dout = ring.of_member(x.dout, member);
      for (std::int64_t other = 0; other < n; ++other) {
        Part part = part_of(ring.whole, member, other, n);
        part.use();
        Tensor<double> theirs = ring.of_member(x.qkv, other);
        Tensor<double> dq(ring.rows(), sum.view().columns), dkv = dq;
        attention_backward<double>(part.c.shape, {x.q_of(mine), x.k_of(theirs), x.v_of(theirs)},
                                   {dout.in(), m.o.in(), m.lse.in()}, x.dropout,
                                   {{x.q_of(dq), false}, {x.k_of(dkv), false}, {x.v_of(dkv), false}});
        ring.add_to(sum, dq, member);
        ring.add_to(sum, dkv, other);
      }
    }
    expect_close(sum.view(), expected.view(), 1e-12, ring.whole.name());
  }
}

// Keys of all members at once, one member behind the other, give what the ring gives.
TEST(GatheredAttention, IsTheWhole) {
  for (std::int64_t i = 0; i < 8; ++i) {
    const std::int64_t n = 2 + i % 3;
    Ring ring{ring_case(i, 2 * n * (2 + i)), n};
    Operands<double>& x = ring.x;
    Tensor<double> o(x.rows(), x.q_columns());
    attention_forward(ring.whole.shape, x.input(), x.dropout, o.write(), {});
    for (std::int64_t member = 0; member < n; ++member) {
      Part part = part_of(ring.whole, member, 0, n);
      part.keys.clear();
      Tensor<double> all(x.rows(), x.qkv.view().columns);
      for (std::int64_t j = 0; j < n; ++j) {
        for (const PositionRun& run : zig_zag(j, n, ring.whole.shape.sequence, j * part.c.shape.sequence))
          part.keys.push_back(run);
        Tensor<double> theirs = ring.of_member(x.qkv, j);
        for (std::int64_t r = 0; r < ring.rows(); ++r)
          std::copy_n(theirs.view().row(r), all.view().columns, all.view().row(j * ring.rows() + r));
      }
      part.use();
      part.c.shape.keys = ring.whole.shape.sequence;
      Tensor<double> mine = ring.of_member(x.qkv, member), got(ring.rows(), x.q_columns());
      attention_forward<double>(part.c.shape, {x.q_of(mine), x.k_of(all), x.v_of(all)}, x.dropout, got.write(), {});
      Tensor<double> expected = ring.of_member(o, member);
      expect_close(got.view(), expected.view(), 1e-12, ring.whole.name());
    }
  }
}

// A part without a visible key changes nothing.
TEST(Merge, AnEmptyPartChangesNothing) {
  const AttentionShape a{.batch = 1, .sequence = 2, .heads = 1, .kv_heads = 1, .head_dim = 4};
  auto o = Tensor<float>::random(2, 4, 1), before = o;
  Tensor<float> part(2, 4), lse(1, 2), part_lse(1, 2);
  lse.view().at(0, 0) = lse.view().at(0, 1) = 0.5F;
  part_lse.view().at(0, 0) = -std::numeric_limits<float>::infinity();
  part_lse.view().at(0, 1) = 0.5F;
  attention_merge<float>(a, part.in(), part_lse.in(), o.view(), lse.view());
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(o.view().at(0, i), before.view().at(0, i));
    EXPECT_FLOAT_EQ(o.view().at(1, i), 0.5F * before.view().at(1, i));
  }
  EXPECT_EQ(lse.view().at(0, 0), 0.5F);
  EXPECT_FLOAT_EQ(lse.view().at(0, 1), 0.5F + std::log(2.0F));
}

}  // namespace
}  // namespace orrery::kernels
