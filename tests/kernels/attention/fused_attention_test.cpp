// The fused kernels against their reference, their gradients against central differences, and what must not
// depend on tiles, addresses or neighbours.
#include <algorithm>

#include "kernels/cpu/attention/fused_attention_reference.h"
#include "tests/kernels/attention/attention_operands.h"

namespace orrery::kernels {
namespace {

template <typename T>
class FusedAttentionTest : public testing::Test {};
using ElementTypes = testing::Types<float, double, bf16, fp16>;
TYPED_TEST_SUITE(FusedAttentionTest, ElementTypes);

TYPED_TEST(FusedAttentionTest, ForwardIsTheReference) {
  using T = TypeParam;
  for (const AttentionCase& c : attention_cases()) {
    Operands<T> x(c);
    auto o = Tensor<T>::random(x.rows(), x.q_columns(), 3), expected_o = o;
    auto lse = Tensor<Wide<T>>::random(c.shape.batch * c.shape.heads, c.shape.sequence, 4),
         expected_lse = lse;
    attention_forward(c.shape, x.input(), x.dropout, o.out(c.adds), lse.out(c.adds));
    reference::attention_forward(c.shape, x.input(), x.dropout, expected_o.out(c.adds),
                                 expected_lse.out(c.adds));
    expect_close(o.view(), expected_o.view(), kSumTolerance<T>, c.name() + " o");
    expect_close(lse.view(), expected_lse.view(), kSumTolerance<T>, c.name() + " lse");
  }
}

TYPED_TEST(FusedAttentionTest, BackwardIsTheReference) {
  using T = TypeParam;
  for (const AttentionCase& c : attention_cases()) {
    Operands<T> x(c);
    Tensor<T> o(x.rows(), x.q_columns());
    Tensor<Wide<T>> lse(c.shape.batch * c.shape.heads, c.shape.sequence);
    attention_forward(c.shape, x.input(), x.dropout, o.write(), lse.write());
    auto gradients = Tensor<T>::random(x.rows(), x.q_columns() + 2 * x.k_columns(), 5), expected = gradients;
    const AttentionSaved<T> saved{x.dout.in(), o.in(), lse.in()};
    attention_backward(c.shape, x.input(), saved, x.dropout, x.gradients(gradients, c.adds));
    reference::attention_backward(c.shape, x.input(), saved, x.dropout, x.gradients(expected, c.adds));
    expect_close(x.q_of(gradients), x.q_of(expected), kSumTolerance<T>, c.name() + " dq");
    expect_close(x.k_of(gradients), x.k_of(expected), kSumTolerance<T>, c.name() + " dk");
    expect_close(x.v_of(gradients), x.v_of(expected), kSumTolerance<T>, c.name() + " dv");
  }
}

double loss(Operands<double>& x) {
  Tensor<double> o(x.rows(), x.q_columns());
  attention_forward(x.shape, x.input(), x.dropout, o.write(), {});
  double sum = 0.0;
  for (std::int64_t r = 0; r < x.rows(); ++r)
    for (std::int64_t c = 0; c < x.q_columns(); ++c) sum += o.view().at(r, c) * x.dout.view().at(r, c);
  return sum;
}

TEST(FusedAttention, BackwardIsTheDerivativeOfForward) {
  for (std::int64_t i = 0; i < 24; ++i) {
    AttentionCase c = numbered_case(i, 1 + i % 7, i % 2 == 0 ? 4 : 6);
    Operands<double> x(c);
    Tensor<double> o(x.rows(), x.q_columns()), lse(c.shape.batch * c.shape.heads, c.shape.sequence);
    Tensor<double> gradients(x.rows(), x.q_columns() + 2 * x.k_columns());
    attention_forward(c.shape, x.input(), x.dropout, o.write(), lse.write());
    attention_backward(c.shape, x.input(), {x.dout.in(), o.in(), lse.in()}, x.dropout,
                       x.gradients(gradients, false));
    constexpr double kStep = 1e-5;
    for (std::int64_t r = 0; r < x.rows(); ++r)
      for (std::int64_t k = 0; k < x.qkv.view().columns; ++k) {
        double& element = x.qkv.view().at(r, k);
        const double old = element;
        element = old + kStep;
        const double above = loss(x);
        element = old - kStep;
        const double below = loss(x);
        element = old;
        ASSERT_NEAR(gradients.view().at(r, k), (above - below) / (2 * kStep), 1e-8)
            << c.name() << " at " << r << ", " << k;
      }
  }
}

// The slopes of Press et al. for 8 heads are 1/2, 1/4, ..., 1/256, whichever rank holds a head.
TEST(AttentionShape, AlibiSlopesBelongToTheModelsHeads) {
  const AttentionShape whole{.heads = 8, .kv_heads = 8, .total_heads = 8};
  const AttentionShape second_half{.heads = 4, .kv_heads = 4, .first_head = 4, .total_heads = 8};
  EXPECT_EQ(whole.alibi_slope(0), 0.5);
  EXPECT_EQ(whole.alibi_slope(7), 1.0 / 256);
  EXPECT_EQ(second_half.alibi_slope(1), 1.0 / 64);
}

// A sequence gets the same bits alone and among others, and whatever the scratch held before.
TEST(FusedAttention, ASequenceDoesNotDependOnItsNeighbours) {
  AttentionCase c = numbered_case(2, 101, 40);
  ASSERT_EQ(c.shape.batch, 3);
  Operands<float> together(c);
  Tensor<float> o(together.rows(), together.q_columns());
  attention_forward(c.shape, together.input(), together.dropout, o.write(), {});
  AttentionCase single = c;
  single.shape.batch = 1;
  for (std::int64_t j = 0; j < c.shape.batch; ++j) {
    Operands<float> alone(single);
    for (std::int64_t r = 0; r < alone.rows(); ++r)
      std::copy_n(together.qkv.view().row(r * c.shape.batch + j), alone.qkv.view().columns,
                  alone.qkv.view().row(r));
    Tensor<float> alone_o(alone.rows(), alone.q_columns(), 11);
    attention_forward(single.shape, alone.input(), {}, alone_o.write(), {});
    for (std::int64_t r = 0; r < alone.rows(); ++r)
      ASSERT_TRUE(std::equal(alone_o.view().row(r), alone_o.view().row(r) + alone.q_columns(),
                             o.view().row(r * c.shape.batch + j)))
          << "sequence " << j << ", position " << r;
  }
}

// Scores of some thousands: only the maximum may enter the exponent.
TEST(FusedAttention, LargeScoresDoNotOverflow) {
  AttentionCase c = numbered_case(0, 100, 16);
  Operands<float> x(c);
  for (float& value : x.qkv.values()) value *= 60.0F;
  Tensor<float> o(x.rows(), x.q_columns()), expected(x.rows(), x.q_columns());
  attention_forward(c.shape, x.input(), x.dropout, o.write(), {});
  reference::attention_forward(c.shape, x.input(), x.dropout, expected.write(), {});
  expect_close(o.view(), expected.view(), 1e-3, "scores of thousands in float");
}

// A divergence must show: NaN in a key spoils every query that sees it, and no other. NaN in a value does
// too, and the gradients of those queries; it may reach up to five queries before them, which a product takes
// in the same step.
TEST(FusedAttention, NanReachesTheQueriesThatSeeIt) {
  AttentionCase c = numbered_case(0, 120, 16);
  ASSERT_TRUE(c.shape.causal);
  constexpr std::int64_t kGroup = 6;
  Operands<float> x(c);
  Tensor<float> o(x.rows(), x.q_columns()), lse(1, 120), gradients(x.rows(), 3 * x.q_columns());
  x.v_of(x.qkv).at(70, 3) = std::numeric_limits<float>::quiet_NaN();
  attention_forward(c.shape, x.input(), x.dropout, o.write(), lse.write());
  attention_backward(c.shape, x.input(), {x.dout.in(), o.in(), lse.in()}, x.dropout,
                     x.gradients(gradients, false));
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    EXPECT_FALSE(std::isnan(o.view().at(r, 0))) << r;
    if (r > 70 - kGroup && r < 70) continue;
    EXPECT_EQ(std::isnan(o.view().at(r, 3)), r >= 70) << r;
    EXPECT_EQ(std::isnan(x.q_of(gradients).at(r, 0)), r >= 70) << r;
  }
  x.k_of(x.qkv).at(70, 3) = std::numeric_limits<float>::quiet_NaN();
  attention_forward(c.shape, x.input(), x.dropout, o.write(), {});
  for (std::int64_t r = 0; r < x.rows(); ++r) EXPECT_EQ(std::isnan(o.view().at(r, 0)), r >= 70) << r;
}

}  // namespace
}  // namespace orrery::kernels
