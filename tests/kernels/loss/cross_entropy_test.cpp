// Cross entropy against its reference, cut against whole, its gradient by differences, and extreme logits.
#include "kernels/cpu/loss/cross_entropy.h"

#include "kernels/cpu/loss/cross_entropy_reference.h"
#include "tests/kernels/pointwise/tensor.h"

namespace orrery::kernels {
namespace {

Tensor<std::int32_t> labels_of(std::int64_t rows, std::int64_t vocabulary) {
  Tensor<std::int32_t> labels(rows, 1);
  for (std::int64_t r = 0; r < rows; ++r) labels.at(r, 0) = static_cast<std::int32_t>(r * 31 % vocabulary);
  return labels;
}

template <typename L>
class CrossEntropy : public ::testing::Test {};
TYPED_TEST_SUITE(CrossEntropy, ElementTypes);

// All stats are in Wide<L>, so they are as good as that.
TYPED_TEST(CrossEntropy, IsTheReference) {
  using L = TypeParam;
  using W = Wide<L>;
  for (const std::int64_t vocabulary : {1, 7, 16, 50, 1237}) {
    auto x = Tensor<L>::random(9, vocabulary, 1, 20.0, 5);
    auto labels = labels_of(9, vocabulary);
    Tensor<W> stats(9, 4, 1), expected_as_wide(9, 4);
    Tensor<double> expected(9, 4);
    const VocabularyBlock<L> block{x.in(), labels.in(), 0};
    cross_entropy_max<L>(x.in(), stats.view());
    cross_entropy_sum<L>(block, stats.view());
    const double loss = cross_entropy_loss<W>(stats.view(), 0.25);
    reference::cross_entropy<L>(block, expected.view());
    double expected_loss = 0.0;
    for (std::int64_t r = 0; r < 9; ++r) {
      expected_loss += 0.25 * expected.at(r, 3);
      for (std::int64_t c = 0; c < 4; ++c) expected_as_wide.set(r, c, expected.at(r, c));
    }
    expect_near(stats, expected_as_wide, 2.0 * rounding<W>());
    EXPECT_NEAR(loss, expected_loss, 2.0 * rounding<W>() * (1.0 + expected_loss));

    Tensor<L> dx(9, vocabulary, 2), expected_dx(9, vocabulary);
    cross_entropy_backward<L>(block, stats.in(), 0.25, 8.0, dx.write());
    reference::cross_entropy_backward<L>(block, expected.in(), 2.0, expected_dx.write());
    expect_near(dx, expected_dx, 4.0 * rounding<L>());
    cross_entropy_backward<L>(block, stats.in(), 0.25, 8.0, dx.add());
    reference::cross_entropy_backward<L>(block, expected.in(), 2.0, expected_dx.add());
    expect_near(dx, expected_dx, 8.0 * rounding<L>());
    cross_entropy_backward<L>(block, stats.in(), 0.25, 8.0, expected_dx.write());
    cross_entropy_backward<L>(block, stats.in(), 0.25, 8.0, x.write());
    expect_same_bits(x, expected_dx);
  }
}

// Two blocks, combined as the collectives between the kernels combine them.
TYPED_TEST(CrossEntropy, OfTwoBlocksIsTheWholeOne) {
  using L = TypeParam;
  using W = Wide<L>;
  constexpr std::int64_t kRows = 6, kColumns = 37;
  auto x = Tensor<L>::random(kRows, 2 * kColumns, 1, 8.0);
  auto labels = labels_of(kRows, 2 * kColumns);
  Tensor<W> whole(kRows, 4), left(kRows, 4), right(kRows, 4);
  const VocabularyBlock<L> all{x.in(), labels.in(), 0};
  const VocabularyBlock<L> blocks[] = {
      {{&x.at(0, 0), kRows, kColumns, 2 * kColumns}, labels.in(), 0},
      {{&x.at(0, kColumns), kRows, kColumns, 2 * kColumns}, labels.in(), kColumns}};
  cross_entropy_max<L>(x.in(), whole.view());
  cross_entropy_sum<L>(all, whole.view());
  cross_entropy_max<L>(blocks[0].logits, left.view());
  cross_entropy_max<L>(blocks[1].logits, right.view());
  for (std::int64_t r = 0; r < kRows; ++r)
    left.at(r, 0) = right.at(r, 0) = std::max(left.at(r, 0), right.at(r, 0));
  cross_entropy_sum<L>(blocks[0], left.view());
  cross_entropy_sum<L>(blocks[1], right.view());
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t c = 1; c < 3; ++c) left.at(r, c) += right.at(r, c);
  EXPECT_NEAR((cross_entropy_loss<W>(left.view(), 1.0)), (cross_entropy_loss<W>(whole.view(), 1.0)),
              20.0 * rounding<W>());

  Tensor<L> dx(kRows, 2 * kColumns), parts(kRows, 2 * kColumns);
  cross_entropy_backward<L>(all, whole.in(), 1.0, 1.0, dx.write());
  for (const VocabularyBlock<L>& block : blocks)
    cross_entropy_backward<L>(block, left.in(), 1.0, 1.0,
                              {{&parts.at(0, block.first_column), kRows, kColumns, 2 * kColumns}, false});
  expect_near(parts, dx, 2.0 * rounding<L>());
}

TEST(CrossEntropyGradient, IsTheSlopeOfTheLoss) {
  auto x = Tensor<double>::random(3, 11, 1);
  auto labels = labels_of(3, 11);
  Tensor<double> stats(3, 4), dx(3, 11);
  const VocabularyBlock<double> block{x.in(), labels.in(), 0};
  const auto loss = [&] {
    cross_entropy_max<double>(x.in(), stats.view());
    cross_entropy_sum<double>(block, stats.view());
    return cross_entropy_loss<double>(stats.view(), 0.5);
  };
  loss();
  cross_entropy_backward<double>(block, stats.in(), 0.5, 1.0, dx.write());
  expect_gradient(x, dx, loss);
}

// Logits far apart: the largest is subtracted before anything is exponentiated.
TEST(CrossEntropyOfLargeLogits, IsFinite) {
  Tensor<float> x(2, 9), stats(2, 4), dx(2, 9);
  auto labels = labels_of(2, 9);
  for (std::int64_t c = 0; c < 9; ++c) {
    x.at(0, c) = c == 4 ? 1e4F : -1e4F;
    x.at(1, c) = -INFINITY;
  }
  x.at(1, 4) = 3.0F;
  const VocabularyBlock<float> block{x.in(), labels.in(), 0};
  cross_entropy_max<float>(x.in(), stats.view());
  cross_entropy_sum<float>(block, stats.view());
  cross_entropy_loss<float>(stats.view(), 1.0);
  cross_entropy_backward<float>(block, stats.in(), 1.0, 1.0, dx.write());
  EXPECT_EQ(stats.at(0, 3), 2e4F);
  EXPECT_EQ(stats.at(1, 3), 0.0F);  // row 1's label is column 4
  EXPECT_EQ(dx.at(0, 4), 1.0F);
  EXPECT_EQ(dx.at(0, 0), -1.0F);
}

// A large vocabulary of equal logits costs no precision: the sum is exactly its size.
TEST(CrossEntropyOfALargeVocabulary, KeepsItsSum) {
  constexpr std::int64_t kVocabulary = 250001;
  Tensor<float> x(1, kVocabulary), stats(1, 4);
  auto labels = labels_of(1, kVocabulary);
  cross_entropy_max<float>(x.in(), stats.view());
  cross_entropy_sum<float>({x.in(), labels.in(), 0}, stats.view());
  EXPECT_EQ(stats.at(0, 1), static_cast<float>(kVocabulary));
}

}  // namespace
}  // namespace orrery::kernels
