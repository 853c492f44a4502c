// The separate kernels against their references, and against the fused ones.
#include "kernels/cpu/attention/separate_attention_reference.h"
#include "kernels/cpu/attention/softmax_reference.h"
#include "tests/kernels/attention/attention_operands.h"

namespace orrery::kernels {
namespace {

template <typename T>
class SeparateAttentionTest : public testing::Test {};
using ElementTypes = testing::Types<float, double, bf16, fp16>;
TYPED_TEST_SUITE(SeparateAttentionTest, ElementTypes);

// Runs a kernel and its reference on copies of one output and compares.
template <typename T, typename Kernel, typename Reference>
void compare(const AttentionCase& c, Tensor<T> out, const std::string& what, Kernel kernel,
             Reference expected_kernel) {
  Tensor<T> expected = out;
  kernel(out.out(c.adds));
  expected_kernel(expected.out(c.adds));
  expect_close(out.view(), expected.view(), kSumTolerance<T>, c.name() + " " + what);
}

TYPED_TEST(SeparateAttentionTest, ProductsAreTheReference) {
  using T = TypeParam;
  for (const AttentionCase& c : attention_cases()) {
    Operands<T> x(c);
    const AttentionShape& a = c.shape;
    const AttentionInput<T> in = x.input();
    const In<T> dout = x.dout.in();
    auto scores = Tensor<T>::random(x.score_rows(), a.sequence, 6);
    const In<T> p = scores.in();
    const auto square = [&] { return Tensor<T>::random(x.score_rows(), a.sequence, 7); };
    const auto queries = [&] { return Tensor<T>::random(x.rows(), x.q_columns(), 8); };
    const auto keys = [&] { return Tensor<T>::random(x.rows(), x.k_columns(), 9); };
    compare<T>(
        c, square(), "scores", [&](Out<T> y) { attention_scores(a, in.q, in.k, y); },
        [&](Out<T> y) { reference::attention_scores(a, in.q, in.k, y); });
    compare<T>(
        c, square(), "dprobabilities", [&](Out<T> y) { attention_dprobabilities(a, dout, in.v, y); },
        [&](Out<T> y) { reference::attention_dprobabilities(a, dout, in.v, y); });
    compare<T>(
        c, queries(), "context", [&](Out<T> y) { attention_context(a, p, in.v, y); },
        [&](Out<T> y) { reference::attention_context(a, p, in.v, y); });
    compare<T>(
        c, queries(), "dquery", [&](Out<T> y) { attention_dquery(a, p, in.k, y); },
        [&](Out<T> y) { reference::attention_dquery(a, p, in.k, y); });
    compare<T>(
        c, keys(), "dvalue", [&](Out<T> y) { attention_dvalue(a, p, dout, y); },
        [&](Out<T> y) { reference::attention_dvalue(a, p, dout, y); });
    compare<T>(
        c, keys(), "dkey", [&](Out<T> y) { attention_dkey(a, p, in.q, y); },
        [&](Out<T> y) { reference::attention_dkey(a, p, in.q, y); });
  }
}

TYPED_TEST(SeparateAttentionTest, SoftmaxIsTheReference) {
  using T = TypeParam;
  for (const AttentionCase& c : attention_cases()) {
    const AttentionShape& a = c.shape;
    const std::int64_t rows = a.batch * a.heads * a.sequence;
    auto x = Tensor<T>::random(rows, a.sequence, 10), dy = Tensor<T>::random(rows, a.sequence, 11);
    Tensor<T> y(rows, a.sequence);
    compare<T>(
        c, Tensor<T>::random(rows, a.sequence, 12), "softmax",
        [&](Out<T> out) { softmax_forward(a, x.in(), out); },
        [&](Out<T> out) { reference::softmax_forward(a, x.in(), out); });
    softmax_forward(a, x.in(), y.write());
    compare<T>(
        c, Tensor<T>::random(rows, a.sequence, 13), "softmax_backward",
        [&](Out<T> out) { softmax_backward(a, y.in(), dy.in(), out); },
        [&](Out<T> out) { reference::softmax_backward(a, y.in(), dy.in(), out); });
    Tensor<T> in_place = x;
    softmax_forward(a, in_place.in(), in_place.write());
    expect_close(in_place.view(), y.view(), 0.0, c.name() + " softmax in place");
  }
}

// Scores beyond what exp can hold, and masked ones that are not numbers.
TEST(Softmax, OnlyVisibleScoresCount) {
  const AttentionShape a{.batch = 1, .sequence = 3, .heads = 1, .kv_heads = 1, .head_dim = 1};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> x{700, nan, nan, 1000, 2000, nan, -3000, -3000, -3000}, y(9);
  softmax_forward<double>(a, {x.data(), 3, 3, 3}, {{y.data(), 3, 3, 3}});
  const std::vector<double> expected{1, 0, 0, 0, 1, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3};
  for (std::size_t i = 0; i < 9; ++i) EXPECT_DOUBLE_EQ(y[i], expected[i]) << i;
}

// The two plans that a schedule can choose give the same numbers.
TEST(SeparateAttention, EqualsFusedInDouble) {
  for (AttentionCase c : attention_cases()) {
    c.dropout = 0.0;
    Operands<double> x(c);
    const AttentionShape& a = c.shape;
    const AttentionInput<double> in = x.input();
    Tensor<double> o(x.rows(), x.q_columns()), lse(a.batch * a.heads, a.sequence), fused_o = o;
    Tensor<double> fused(x.rows(), x.q_columns() + 2 * x.k_columns()), separate = fused;
    Tensor<double> p(x.score_rows(), a.sequence), dp = p;
    attention_forward(a, in, {}, fused_o.write(), lse.write());
    attention_backward(a, in, {x.dout.in(), fused_o.in(), lse.in()}, {}, x.gradients(fused, false));
    attention_scores(a, in.q, in.k, p.write());
    softmax_forward(a, p.in(), p.write());
    attention_context(a, p.in(), in.v, o.write());
    attention_dprobabilities(a, x.dout.in(), in.v, dp.write());
    attention_dvalue(a, p.in(), x.dout.in(), {x.v_of(separate)});
    softmax_backward(a, p.in(), dp.in(), dp.write());
    attention_dquery(a, dp.in(), in.k, {x.q_of(separate)});
    attention_dkey(a, dp.in(), in.q, {x.k_of(separate)});
    expect_close(fused_o.view(), o.view(), 1e-12, c.name() + " o");
    expect_close(fused.view(), separate.view(), 1e-12, c.name() + " dq dk dv");
  }
}

}  // namespace
}  // namespace orrery::kernels
