// Every backward kernel against central differences of its forward kernel, and the kernels that exist in two forms
// (fused and separate attention, whole and cut vocabulary) against each other.
#include "tests/interpreter/kernels_attention.h"
#include "tests/interpreter/kernels_elementwise.h"
#include "tests/interpreter/kernels_embedding.h"
#include "tests/interpreter/kernels_linear.h"
#include "tests/interpreter/kernels_loss.h"
#include "tests/interpreter/kernels_norm.h"
#include "tests/interpreter/kernels_optimizer.h"
#include "tests/interpreter/kernel_check.h"

namespace orrery::interpreter {
namespace {

using schedule::Activation;
using schedule::Norm;

TEST(Kernels, GemmLayoutsAreTheLinearLayer) {
  Matrix x = random_matrix(3, 4, 1), w = random_matrix(5, 4, 2), bias = random_matrix(5, 1, 3), y(3, 5);
  const Matrix dy = random_matrix(3, 5, 4);
  const auto loss = [&] {
    gemm_forward(view(x), view(w), ConstView(view(bias)), write_to(y));
    return dot(y, dy);
  };
  Matrix from = dy, dx(3, 4), dw(5, 4, 1.0), dbias(5, 1);
  gemm_input_gradient(view(from), view(w), write_to(dx));
  gemm_weight_gradient(view(from), view(x), add_to(dw));
  bias_backward(view(from), write_to(dbias));
  for (double& v : dw.values) v -= 1.0;  // it was accumulated
  expect_gradient(x, dx, loss);
  expect_gradient(w, dw, loss);
  expect_gradient(bias, dbias, loss);
}

TEST(Kernels, NormsHaveTheGradientOfTheirForward) {
  for (const Norm norm : {Norm::layer_norm, Norm::rms_norm}) {
    Matrix x = random_matrix(3, 6, 1), w = random_matrix(6, 1, 2), bias = random_matrix(6, 1, 3), y(3, 6);
    Matrix dy = random_matrix(3, 6, 4), dx(3, 6, 2.0), dw(6, 1), dbias(6, 1);
    const auto loss = [&] {
      norm_forward(norm, view(x), view(w), ConstView(view(bias)), write_to(y));
      return dot(y, dy);
    };
    norm_backward(norm, view(dy), view(x), view(w), {add_to(dx), write_to(dw), write_to(dbias)});
    for (double& v : dx.values) v -= 2.0;  // the residual's gradient was there before
    expect_gradient(x, dx, loss);
    expect_gradient(w, dw, loss);
    expect_gradient(bias, dbias, loss);
  }
}

TEST(Kernels, HeadNormHasTheGradientOfItsForward) {
  Matrix x = random_matrix(3, 8, 1), w = random_matrix(4, 1, 2), y(3, 8);
  Matrix dy = random_matrix(3, 8, 4), dx(3, 8), dw(4, 1);
  const auto loss = [&] {
    head_norm_forward(view(x), view(w), write_to(y));
    return dot(y, dy);
  };
  head_norm_backward(view(dy), view(x), view(w), write_to(dx), write_to(dw));
  expect_gradient(x, dx, loss);
  expect_gradient(w, dw, loss);
}

TEST(Kernels, ActivationsHaveTheGradientOfTheirForward) {
  for (const Activation act : {Activation::gelu, Activation::relu, Activation::squared_relu, Activation::swiglu,
                               Activation::geglu}) {
    const std::int64_t columns = act == Activation::swiglu || act == Activation::geglu ? 8 : 4;
    Matrix x = random_matrix(3, columns, 1), bias = random_matrix(columns, 1, 2), y(3, 4);
    Matrix dy = random_matrix(3, 4, 3), dx(3, columns), dbias(columns, 1);
    const auto loss = [&] {
      activation_forward(act, view(x), ConstView(view(bias)), write_to(y));
      return dot(y, dy);
    };
    activation_backward(act, view(dy), view(x), ConstView(view(bias)), write_to(dx), write_to(dbias));
    expect_gradient(x, dx, loss);
    expect_gradient(bias, dbias, loss);
  }
}

TEST(Kernels, GeluIsTheTanhForm) {
  Matrix x(1, 1, 1.0), y(1, 1);
  activation_forward(Activation::gelu, view(x), {}, write_to(y));
  EXPECT_NEAR(y.at(0, 0), 0.8411919906, 1e-9);
}

TEST(Kernels, BiasDropoutAddHasTheGradientOfItsForward) {
  const Dropout dropout{.key = {}, .probability = 0.4, .first_sequence = 3, .batch = 2, .rows = {}, .columns = 5};
  Matrix x = random_matrix(4, 5, 1), residual = random_matrix(4, 5, 2), bias = random_matrix(5, 1, 3);
  Matrix y(4, 5), mask(4, 5), dy = random_matrix(4, 5, 4), dx(4, 5), dbias(5, 1);
  const auto loss = [&] {
    bias_dropout_add_forward(dropout, {view(x), ConstView(view(residual)), ConstView(view(bias))}, write_to(y), write_to(mask));
    return dot(y, dy);
  };
  loss();
  double kept = 0.0;
  for (const double v : mask.values) kept += v;
  EXPECT_GT(kept, 3.0);
  EXPECT_LT(kept, 20.0);
  bias_dropout_add_backward(dropout, view(dy), ConstView(view(mask)), write_to(dx), write_to(dbias));
  expect_gradient(x, dx, loss);
  expect_gradient(bias, dbias, loss);
  expect_gradient(residual, dy, loss);
}

AttentionShape small_attention(bool alibi) {
  AttentionShape a;
  a.batch = 2;
  a.sequence = 3;
  a.heads = 4;
  a.kv_heads = 2;
  a.head_dim = 2;
  a.alibi = alibi;
  a.first_head = 4;
  a.total_heads = 8;
  return a;
}

TEST(Kernels, FusedAttentionHasTheGradientOfItsForward) {
  for (const double p : {0.0, 0.3}) {
    const AttentionShape a = small_attention(p > 0.0);
    const Dropout dropout{.key = {}, .probability = p, .first_sequence = 5, .batch = 2, .rows = {}, .columns = 0};
    Matrix q = random_matrix(6, 8, 1), k = random_matrix(6, 4, 2), v = random_matrix(6, 4, 3), o(6, 8), lse(8, 3);
    Matrix dout = random_matrix(6, 8, 4), dq(6, 8), dk(6, 4), dv(6, 4);
    const auto loss = [&] {
      attention_forward(a, {view(q), view(k), view(v)}, dropout, write_to(o), write_to(lse));
      return dot(o, dout);
    };
    loss();
    attention_backward(a, {view(q), view(k), view(v)}, {view(dout), view(o), view(lse)}, dropout,
                       {write_to(dq), write_to(dk), write_to(dv)});
    expect_gradient(q, dq, loss);
    expect_gradient(k, dk, loss);
    expect_gradient(v, dv, loss);
  }
}

TEST(Kernels, SeparateAttentionEqualsFusedWithTheSameDropout) {
  const AttentionShape a = small_attention(true);
  const Dropout dropout{.key = {}, .probability = 0.3, .first_sequence = 5, .batch = 2, .rows = {}, .columns = 0};
  const ScoreLayout layout{a.heads, a.first_head, a.square()};
  Matrix q = random_matrix(6, 8, 1), k = random_matrix(6, 4, 2), v = random_matrix(6, 4, 3);
  Matrix fused(6, 8), lse(8, 3), dout = random_matrix(6, 8, 4), dq(6, 8), dk(6, 4), dv(6, 4);
  attention_forward(a, {view(q), view(k), view(v)}, dropout, write_to(fused), write_to(lse));
  attention_backward(a, {view(q), view(k), view(v)}, {view(dout), view(fused), view(lse)}, dropout,
                     {write_to(dq), write_to(dk), write_to(dv)});

  Matrix scores(24, 3), p(24, 3), mask(24, 3), dropped(24, 3), o(6, 8);
  attention_scores(a, view(q), view(k), write_to(scores));
  softmax_forward(a, view(scores), write_to(p));
  dropout_forward(dropout, layout, view(p), write_to(dropped), write_to(mask));
  attention_context(a, view(dropped), view(v), write_to(o));
  Matrix dp(24, 3), ds(24, 3), dq2(6, 8), dk2(6, 4), dv2(6, 4);
  attention_dvalue(a, view(dropped), view(dout), write_to(dv2));
  attention_dprobabilities(a, view(dout), view(v), write_to(dp));
  dropout_backward(dropout, view(dp), view(mask), write_to(dp));
  softmax_backward(a, view(p), view(dp), write_to(ds));
  attention_dquery(a, view(ds), view(k), write_to(dq2));
  attention_dkey(a, view(ds), view(q), write_to(dk2));
  const auto near = [](const Matrix& x, const Matrix& y) {
    for (std::size_t i = 0; i < x.values.size(); ++i) EXPECT_NEAR(x.values[i], y.values[i], 1e-12);
  };
  near(fused, o);
  near(dq, dq2);
  near(dk, dk2);
  near(dv, dv2);
}

TEST(Kernels, RotaryBackwardIsTheInverse) {
  Matrix x = random_matrix(6, 8, 1);
  const Matrix before = x;
  rotary(view(x), 2, 4, 1.0);
  EXPECT_GT(std::abs(x.at(4, 0) - before.at(4, 0)), 1e-3);
  rotary(view(x), 2, 4, -1.0);
  for (std::size_t i = 0; i < x.values.size(); ++i) EXPECT_NEAR(x.values[i], before.values[i], 1e-12);
}

// Two shards of the vocabulary, combined as the collectives between the kernels combine them.
TEST(Kernels, CutCrossEntropyIsTheWholeOne) {
  Matrix x = random_matrix(3, 8, 1), labels(3, 1), stats(3, 4), dx(3, 8);
  labels.values = {1.0, 6.0, 4.0};
  const auto loss = [&] {
    cross_entropy_max(view(x), view(stats));
    cross_entropy_sum({view(x), view(labels), 0}, view(stats));
    return cross_entropy_loss(view(stats), 0.5);
  };
  const double whole = loss();
  cross_entropy_backward({view(x), view(labels), 0}, view(stats), 0.5, write_to(dx));
  expect_gradient(x, dx, loss);

  const TensorView left{x.values.data(), 3, 4, 8}, right{x.values.data() + 4, 3, 4, 8};
  Matrix a(3, 4), b(3, 4), both(3, 4);
  cross_entropy_max(left, view(a));
  cross_entropy_max(right, view(b));
  for (std::int64_t r = 0; r < 3; ++r) a.at(r, 0) = b.at(r, 0) = std::max(a.at(r, 0), b.at(r, 0));
  cross_entropy_sum({left, view(labels), 0}, view(a));
  cross_entropy_sum({right, view(labels), 4}, view(b));
  for (std::int64_t r = 0; r < 3; ++r) {
    both.at(r, 0) = a.at(r, 0);
    for (std::int64_t c = 1; c < 3; ++c) both.at(r, c) = a.at(r, c) + b.at(r, c);
  }
  EXPECT_NEAR(cross_entropy_loss(view(both), 0.5), whole, 1e-12);
}

TEST(Kernels, EmbeddingOfABlockIgnoresOtherTokens) {
  Matrix tokens(3, 1), w = random_matrix(2, 3, 1), y(3, 3), dw(2, 3), dy = random_matrix(3, 3, 2);
  tokens.values = {4.0, 1.0, 5.0};
  embedding_forward(view(tokens), view(w), 4, write_to(y));
  EXPECT_EQ(y.at(0, 1), w.at(0, 1));
  EXPECT_EQ(y.at(1, 1), 0.0);
  EXPECT_EQ(y.at(2, 2), w.at(1, 2));
  embedding_backward(view(tokens), view(dy), 4, write_to(dw));
  EXPECT_EQ(dw.at(1, 0), dy.at(2, 0));
}

TEST(Kernels, TopKKeepsTheRestAsError) {
  Matrix x(1, 4), y(2, 2), sum(1, 4);
  x.values = {1.0, -5.0, 3.0, 0.5};
  top_k_select(view(x), view(y));
  top_k_keep_rest(view(y), view(x));
  EXPECT_EQ(x.values, (std::vector<double>{1.0, 0.0, 0.0, 0.5}));
  top_k_apply(view(y), 0, view(sum));
  EXPECT_EQ(sum.values, (std::vector<double>{0.0, -5.0, 3.0, 0.0}));
  Matrix shard(1, 2);
  top_k_apply(view(y), 2, view(shard));
  EXPECT_EQ(shard.values, (std::vector<double>{3.0, 0.0}));
}

TEST(Kernels, FirstAdamStepIsTheSignOfTheGradient) {
  Matrix p(1, 2, 1.0), m(1, 2), v(1, 2), g(1, 2);
  g.values = {0.5, -2.0};
  schedule::Hyper hyper;
  hyper.learning_rate = 0.1;
  hyper.weight_decay = 0.5;
  hyper.epsilon = 0.0;
  adam({view(p), view(m), view(v), {}, view(g), 1.0, 1}, {.first = 0, .decay_from = 1}, hyper);
  EXPECT_NEAR(p.values[0], 0.9, 1e-12);
  EXPECT_NEAR(p.values[1], 1.0 + 0.1 - 0.1 * 0.5, 1e-12);
}

}  // namespace
}  // namespace orrery::interpreter
