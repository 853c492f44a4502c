// Tables against their reference on every shard of the vocabulary and of the sequence; gradients by
// differences.
#include "kernels/cpu/embedding/embedding.h"

#include "kernels/cpu/embedding/embedding_reference.h"
#include "tests/kernels/pointwise/tensor.h"

namespace orrery::kernels {
namespace {

// T ids below `vocabulary`, some of them more than once.
Tensor<std::int32_t> tokens_of(std::int64_t count, std::int32_t vocabulary) {
  Tensor<std::int32_t> tokens(count, 1);
  for (std::int64_t r = 0; r < count; ++r)
    tokens.at(r, 0) = static_cast<std::int32_t>(draw(5, static_cast<std::uint64_t>(r)) %
                                                static_cast<std::uint32_t>(vocabulary));
  return tokens;
}

template <typename T>
class EmbeddingForward : public ::testing::Test {};
TYPED_TEST_SUITE(EmbeddingForward, ElementTypes);

TYPED_TEST(EmbeddingForward, IsTheReferenceOnEveryShard) {
  using T = TypeParam;
  auto tokens = tokens_of(20, 24);
  for (const std::int64_t columns : {1, 8, 37})
    for (const std::int64_t first_row : {0, 12, 24}) {
      auto w = Tensor<T>::random(12, columns, 1, 2.0, 3), added = Tensor<T>::random(20, columns, 2),
           expected_sum = added;
      Tensor<T> y(20, columns, 2), expected(20, columns);
      embedding_forward<T>(tokens.in(), w.in(), first_row, y.write());
      reference::embedding_forward<T>(tokens.in(), w.in(), first_row, expected.write());
      expect_same_bits(y, expected);
      embedding_forward<T>(tokens.in(), w.in(), first_row, added.add());
      reference::embedding_forward<T>(tokens.in(), w.in(), first_row, expected_sum.add());
      expect_same_bits(added, expected_sum);
    }
}

TYPED_TEST(EmbeddingForward, AddsPositionsOfASequenceShard) {
  using T = TypeParam;
  auto w = Tensor<T>::random(10, 19, 1, 2.0, 1), y = Tensor<T>::random(6, 19, 2, 2.0, 4), expected = y;
  const Positions positions{.batch = 2, .first_row = 6};
  position_forward<T>(w.in(), positions, y.view());
  reference::position_forward<T>(w.in(), positions, expected.view());
  expect_same_bits(y, expected);
  EXPECT_EQ(positions.of_row(3), 4);
}

template <typename P>
class EmbeddingBackward : public ::testing::Test {};
TYPED_TEST_SUITE(EmbeddingBackward, GradientTypes);

TYPED_TEST(EmbeddingBackward, IsTheReferenceOnEveryShard) {
  using T = typename TypeParam::T;
  using G = typename TypeParam::G;
  auto tokens = tokens_of(40, 24);
  for (const std::int64_t columns : {1, 8, 37})
    for (const std::int64_t first_row : {0, 12, 24}) {
      auto dy = Tensor<T>::random(40, columns, 1, 2.0, 3);
      auto dw = Tensor<G>::random(12, columns, 2, 2.0, 1), expected = dw, written = dw, expected_written = dw;
      embedding_backward<T, G>(tokens.in(), dy.in(), first_row, dw.add());
      reference::embedding_backward<T, G>(tokens.in(), dy.in(), first_row, expected.add());
      expect_near(dw, expected, 2.0 * rounding<G>());
      embedding_backward<T, G>(tokens.in(), dy.in(), first_row, written.write());
      reference::embedding_backward<T, G>(tokens.in(), dy.in(), first_row, expected_written.write());
      expect_near(written, expected_written, 2.0 * rounding<G>());
    }
}

TYPED_TEST(EmbeddingBackward, SumsThePositionsOfASequenceShard) {
  using T = typename TypeParam::T;
  using G = typename TypeParam::G;
  auto dy = Tensor<T>::random(9, 13, 1, 2.0, 3);
  auto dw = Tensor<G>::random(8, 13, 2, 2.0, 1), expected = dw;
  const Positions positions{.batch = 3, .first_row = 9};
  position_backward<T, G>(dy.in(), positions, dw.add());
  reference::position_backward<T, G>(dy.in(), positions, expected.add());
  expect_near(dw, expected, 2.0 * rounding<G>());
  position_backward<T, G>(dy.in(), positions, dw.write());
  reference::position_backward<T, G>(dy.in(), positions, expected.write());
  expect_near(dw, expected, 2.0 * rounding<G>());
}

// A token that is everywhere: 1024 times 1/1024 is 1, which sums rounded to 8 bits each time would never
// reach.
TEST(EmbeddingBackwardOfBf16, RoundsASumOnce) {
  constexpr std::int64_t kRows = 1024;
  Tensor<std::int32_t> tokens(kRows, 1);
  Tensor<bf16> dy(kRows, 4), dw(3, 4);
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t c = 0; c < 4; ++c) dy.set(r, c, 1.0 / kRows);
  embedding_backward<bf16, bf16>(tokens.in(), dy.in(), -1, dw.add());
  EXPECT_EQ(dw.value(1, 2), 1.0);
  EXPECT_EQ(dw.value(0, 2), 0.0);
}

TEST(EmbeddingGradient, IsTheSlopeOfTheForward) {
  auto tokens = tokens_of(8, 5);
  auto w = Tensor<double>::random(5, 3, 1), p = Tensor<double>::random(4, 3, 2),
       dy = Tensor<double>::random(8, 3, 3);
  Tensor<double> y(8, 3), dw(5, 3), dp(4, 3);
  const Positions positions{.batch = 2};
  const auto loss = [&] {
    embedding_forward<double>(tokens.in(), w.in(), 0, y.write());
    position_forward<double>(p.in(), positions, y.view());
    return dot(y, dy);
  };
  embedding_backward<double, double>(tokens.in(), dy.in(), 0, dw.write());
  position_backward<double, double>(dy.in(), positions, dp.write());
  expect_gradient(w, dw, loss);
  expect_gradient(p, dp, loss);
}

}  // namespace
}  // namespace orrery::kernels
