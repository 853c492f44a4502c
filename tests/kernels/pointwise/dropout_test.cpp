// Dropout against its reference with and without its parts; shards repeat the whole mask; gradients; rate.
#include "kernels/cpu/pointwise/dropout.h"

#include "kernels/cpu/pointwise/pointwise_reference.h"
#include "tests/kernels/pointwise/tensor.h"

namespace orrery::kernels {
namespace {

using Mask = Tensor<std::uint8_t>;
constexpr std::uint64_t kKeys[] = {0x0123456789abcdefULL, 0xfedcba9876543210ULL};

Dropout hidden(double probability, std::int64_t columns) {
  return {.probability = probability, .keys = kKeys, .batch = 2, .total_columns = columns};
}

template <typename T>
class DropoutOf : public ::testing::Test {};
TYPED_TEST_SUITE(DropoutOf, ElementTypes);

TYPED_TEST(DropoutOf, KeepsAndScalesAsTheReference) {
  using T = TypeParam;
  for (const std::int64_t columns : {1, 9, 64, 5000}) {
    const Dropout dropout = hidden(0.3, columns);
    auto x = Tensor<T>::random(6, columns, 1, 2.0, 3), dy = Tensor<T>::random(6, columns, 2);
    Tensor<T> y(6, columns, 1), expected(6, columns), dx(6, columns, 5), expected_dx(6, columns);
    Mask mask(6, columns, 7), expected_mask(6, columns);
    dropout_forward<T>(dropout, x.in(), y.write(), mask.view());
    reference::bias_dropout_add_forward<T>(dropout, x.in(), {}, {}, expected.write(), expected_mask.view());
    expect_same_bits(mask, expected_mask);
    expect_near(y, expected, rounding<T>());
    dropout_backward<T>(0.3, dy.in(), mask.in(), dx.write());
    reference::bias_dropout_add_backward<T, T>(0.3, dy.in(), expected_mask.in(), expected_dx.write(), {});
    expect_near(dx, expected_dx, rounding<T>());
  }
}

TYPED_TEST(DropoutOf, NothingIsACopyAndAllOnes) {
  auto x = Tensor<TypeParam>::random(3, 21, 1);
  Tensor<TypeParam> y(3, 21);
  Mask mask(3, 21, 2);
  dropout_forward<TypeParam>({}, x.in(), y.write(), mask.view());
  expect_same_bits(y, x);
  for (std::int64_t i = 0; i < 63; ++i) EXPECT_EQ(mask.at(i / 21, i % 21), 1);
  EXPECT_TRUE(mask.guards_are_whole());
}

template <typename P>
class BiasDropoutAdd : public ::testing::Test {};
TYPED_TEST_SUITE(BiasDropoutAdd, GradientTypes);

TYPED_TEST(BiasDropoutAdd, IsTheReferenceWithAndWithoutItsParts) {
  using T = typename TypeParam::T;
  using G = typename TypeParam::G;
  for (const double probability : {0.0, 0.4})
    for (const std::int64_t columns : {3, 16, 61})
      for (int parts = 0; parts < 4; ++parts) {
        const Dropout dropout = hidden(probability, columns);
        auto x = Tensor<T>::random(4, columns, 1, 2.0, 1), bias = Tensor<T>::random(1, columns, 2);
        auto residual = Tensor<T>::random(4, columns, 3, 2.0, 2);
        Tensor<T> y(4, columns, 5), expected(4, columns);
        Mask mask(4, columns), expected_mask(4, columns);
        const In<T> b = (parts & 1) != 0 ? bias.in() : In<T>{},
                    rest = (parts & 2) != 0 ? residual.in() : In<T>{};
        const auto mask_if = [&](Mask& m) { return probability > 0.0 ? m.view() : Matrix<std::uint8_t>{}; };
        bias_dropout_add_forward<T>(dropout, x.in(), b, rest, y.write(), mask_if(mask));
        reference::bias_dropout_add_forward<T>(dropout, x.in(), b, rest, expected.write(),
                                               mask_if(expected_mask));
        expect_near(y, expected, 2.0 * rounding<T>());
        expect_same_bits(mask, expected_mask);

        Tensor<T> dx(4, columns, 2), expected_dx(4, columns);
        auto dbias = Tensor<G>::random(1, columns, 4), expected_dbias = dbias;
        const Out<G> sums = (parts & 1) != 0 ? dbias.add() : Out<G>{};
        const Out<T> to = (parts & 2) != 0 ? dx.write() : Out<T>{};
        bias_dropout_add_backward<T, G>(probability, x.in(), mask_if(mask), to, sums);
        const Out<G> expected_sums = (parts & 1) != 0 ? expected_dbias.add() : Out<G>{};
        reference::bias_dropout_add_backward<T, G>(probability, x.in(), mask_if(mask),
                                                   (parts & 2) != 0 ? expected_dx.write() : Out<T>{},
                                                   expected_sums);
        if (to.exists()) expect_near(dx, expected_dx, rounding<T>());
        expect_near(dbias, expected_dbias, 4.0 * rounding<G>());
      }
}

TEST(BiasDropoutAddGradient, IsTheSlopeOfTheForward) {
  const Dropout dropout = hidden(0.4, 5);
  auto x = Tensor<double>::random(4, 5, 1), bias = Tensor<double>::random(1, 5, 2),
       residual = Tensor<double>::random(4, 5, 3);
  auto dy = Tensor<double>::random(4, 5, 4);
  Tensor<double> y(4, 5), dx(4, 5), dbias(1, 5);
  Mask mask(4, 5);
  const auto loss = [&] {
    bias_dropout_add_forward<double>(dropout, x.in(), bias.in(), residual.in(), y.write(), mask.view());
    return dot(y, dy);
  };
  loss();
  bias_dropout_add_backward<double, double>(0.4, dy.in(), mask.in(), dx.write(), dbias.write());
  expect_gradient(x, dx, loss);
  expect_gradient(bias, dbias, loss);
  expect_gradient(residual, dy, loss);
}

// Cut by rows and by columns, the parts' masks are the whole one's.
TEST(DropoutShards, RepeatTheWholeMask) {
  constexpr std::int64_t kRows = 12, kColumns = 50;
  auto x = Tensor<float>::random(kRows, kColumns, 1);
  Tensor<float> y(kRows, kColumns), part(kRows / 2, kColumns / 2);
  Mask whole(kRows, kColumns), mask(kRows / 2, kColumns / 2);
  dropout_forward<float>(hidden(0.5, kColumns), x.in(), y.write(), whole.view());
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 2; ++j) {
      Dropout dropout = hidden(0.5, kColumns);
      dropout.first_row = i * kRows / 2;
      dropout.first_column = j * kColumns / 2;
      const In<float> from{&x.at(dropout.first_row, dropout.first_column), kRows / 2, kColumns / 2, kColumns};
      dropout_forward<float>(dropout, from, part.write(), mask.view());
      for (std::int64_t r = 0; r < kRows / 2; ++r)
        for (std::int64_t c = 0; c < kColumns / 2; ++c)
          ASSERT_EQ(mask.at(r, c), whole.at(dropout.first_row + r, dropout.first_column + c))
              << r << ", " << c;
    }
}

// Probabilities of all heads, and of the upper half of them: [batch * heads * queries x keys].
TEST(DropoutShards, RepeatTheMaskOfTheirHeads) {
  constexpr std::int64_t kBatch = 2, kHeads = 4, kSequence = 7;
  Dropout all{
      .probability = 0.5, .keys = kKeys, .total_columns = kSequence, .heads = kHeads, .queries = kSequence};
  Dropout upper = all;
  upper.heads = kHeads / 2;
  upper.first_head = kHeads / 2;
  auto x = Tensor<float>::random(kBatch * kHeads * kSequence, kSequence, 1);
  Tensor<float> y(x.rows(), kSequence);
  Mask whole(x.rows(), kSequence), half(x.rows() / 2, kSequence);
  dropout_forward<float>(all, x.in(), y.write(), whole.view());
  dropout_forward<float>(upper, {x.view().data, x.rows() / 2, kSequence, kSequence},
                         {{y.view().data, x.rows() / 2, kSequence, kSequence}}, half.view());
  for (std::int64_t j = 0; j < kBatch; ++j)
    for (std::int64_t head = 0; head < kHeads / 2; ++head)
      for (std::int64_t i = 0; i < kSequence * kSequence; ++i) {
        const std::int64_t row = (j * kHeads + kHeads / 2 + head) * kSequence + i / kSequence;
        const std::int64_t half_row = (j * kHeads / 2 + head) * kSequence + i / kSequence;
        ASSERT_EQ(half.at(half_row, i % kSequence), whole.at(row, i % kSequence));
        ASSERT_EQ(whole.at(row, i % kSequence),
                  draw(kKeys[j], static_cast<std::uint64_t>((kHeads / 2 + head) * kSequence * kSequence +
                                                            i)) >= 0x80000000U);
      }
}

TEST(DropoutRate, IsTheProbability) {
  constexpr std::int64_t kRows = 64, kColumns = 4096;
  Tensor<float> x(kRows, kColumns), y(kRows, kColumns);
  Mask mask(kRows, kColumns);
  for (const double p : {0.01, 0.1, 0.5, 0.9}) {
    dropout_forward<float>(hidden(p, kColumns), x.in(), y.write(), mask.view());
    double kept = 0.0;
    for (std::int64_t i = 0; i < kRows * kColumns; ++i) kept += mask.at(i / kColumns, i % kColumns);
    const double count = static_cast<double>(kRows * kColumns), sigma = std::sqrt(count * p * (1.0 - p));
    EXPECT_NEAR(kept, count * (1.0 - p), 5.0 * sigma) << p;
  }
}

// What is dropped is 0 even where x is not a number.
TEST(DropoutForward, DropsInfinities) {
  auto x = Tensor<float>::random(2, 40, 1);
  for (std::int64_t c = 0; c < 40; ++c) x.at(0, c) = INFINITY;
  Tensor<float> y(2, 40);
  Mask mask(2, 40);
  dropout_forward<float>(hidden(0.5, 40), x.in(), y.write(), mask.view());
  for (std::int64_t c = 0; c < 40; ++c) EXPECT_EQ(y.at(0, c), mask.at(0, c) != 0 ? INFINITY : 0.0F);
}

}  // namespace
}  // namespace orrery::kernels
