// The separate kernels against their references, and against the fused ones.
#include "kernels/cpu/attention/separate_attention_reference.h"
#include "kernels/cpu/attention/softmax_reference.h"
#include "kernels/cpu/pointwise/dropout.h"
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
struct Separate {
  explicit Separate(Operands<double>& x)
      : o(x.rows(), x.q_columns()),
        gradients(x.rows(), x.q_columns() + 2 * x.k_columns()),
        p(x.score_rows(), x.shape.sequence),
        dropped(p),
        dp(p),
        kept(x.score_rows(), x.shape.sequence) {}
  Tensor<double> o, gradients, p, dropped, dp;
  Tensor<std::uint8_t> kept;
};

void run_separate(Operands<double>& x, Separate& s) {
  const AttentionShape& a = x.shape;
  const AttentionInput<double> in = x.input();
  const Dropout dropout{.probability = x.dropout.probability,
                        .keys = x.keys.data(),
                        .total_columns = a.sequence,
                        .heads = a.heads,
                        .first_head = a.first_head,
                        .queries = a.sequence};
  attention_scores(a, in.q, in.k, s.p.write());
  softmax_forward(a, s.p.in(), s.p.write());
  dropout_forward(dropout, s.p.in(), s.dropped.write(), s.kept.view());
  attention_context(a, s.dropped.in(), in.v, s.o.write());
  attention_dprobabilities(a, x.dout.in(), in.v, s.dp.write());
  attention_dvalue(a, s.dropped.in(), x.dout.in(), {x.v_of(s.gradients)});
  dropout_backward(dropout.probability, s.dp.in(), s.kept.in(), s.dp.write());
  softmax_backward(a, s.p.in(), s.dp.in(), s.dp.write());
  attention_dquery(a, s.dp.in(), in.k, {x.q_of(s.gradients)});
  attention_dkey(a, s.dp.in(), in.q, {x.k_of(s.gradients)});
}

TEST(SeparateAttention, EqualsFusedInDouble) {
  for (const AttentionCase& c : attention_cases()) {
    Operands<double> x(c);
    Separate separate(x);
    run_separate(x, separate);
    Tensor<double> o(x.rows(), x.q_columns()), lse(c.shape.batch * c.shape.heads, c.shape.sequence);
    Tensor<double> gradients(x.rows(), x.q_columns() + 2 * x.k_columns());
    attention_forward(c.shape, x.input(), x.dropout, o.write(), lse.write());
    attention_backward(c.shape, x.input(), {x.dout.in(), o.in(), lse.in()}, x.dropout,
                       x.gradients(gradients, false));
    expect_close(o.view(), separate.o.view(), 1e-12, c.name() + " o");
    expect_close(gradients.view(), separate.gradients.view(), 1e-12, c.name() + " dq dk dv");
  }
}

}  // namespace
}  // namespace orrery::kernels
