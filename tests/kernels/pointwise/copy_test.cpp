// Casts between all types at any stride and shape.
#include "kernels/cpu/pointwise/copy.h"

#include "tests/kernels/pointwise/tensor.h"

namespace orrery::kernels {
namespace {

template <typename T>
class Copy : public ::testing::Test {};
TYPED_TEST_SUITE(Copy, ElementTypes);

template <typename From, typename To>
void expect_cast(std::int64_t rows, std::int64_t columns, std::int64_t from_gap, std::int64_t to_gap) {
  auto x = Tensor<From>::random(rows, columns, 1, 100.0, from_gap);
  Tensor<To> y(rows, columns, to_gap), written(rows, columns),
      added = Tensor<To>::random(rows, columns, 2, 5.0, to_gap);
  Tensor<To> sum(rows, columns);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      written.set(r, c, x.value(r, c));
      sum.set(r, c, added.value(r, c) + x.value(r, c));
    }
  cast<From, To>(x.in(), y.write());
  expect_same_bits(y, written);
  cast<From, To>(x.in(), added.add());
  expect_near(added, sum, rounding<To>());
}

TYPED_TEST(Copy, CastsToEveryTypeAtAnyStride) {
  for (const std::int64_t columns : {1, 7, 8, 9, 67})
    for (const std::int64_t gap : {0, 3}) {
      expect_cast<TypeParam, double>(5, columns, gap, 2 * gap);
      expect_cast<TypeParam, float>(5, columns, gap, 2 * gap);
      expect_cast<TypeParam, bf16>(5, columns, gap, 0);
      expect_cast<TypeParam, fp16>(5, columns, 0, gap);
    }
}

TYPED_TEST(Copy, FillsWithZeroBetweenTheGuards) {
  for (const std::int64_t gap : {0, 5}) {
    auto y = Tensor<TypeParam>::random(3, 11, 1, 2.0, gap);
    Tensor<TypeParam> zeros(3, 11);
    fill(y.view());
    expect_same_bits(y, zeros);
  }
}

// A flat vector against a rectangle in a wider matrix: elements correspond in row-major order.
TEST(CopyOfShapes, FollowsRowMajorOrder) {
  auto x = Tensor<float>::random(4, 6, 1, 2.0, 3);
  Tensor<float> y(8, 3, 2), flat(1, 24);
  cast<float, float>(x.in(), y.write());
  cast<float, float>(x.in(), flat.write());
  for (std::int64_t i = 0; i < 24; ++i) {
    EXPECT_EQ(y.at(i / 3, i % 3), x.at(i / 6, i % 6));
    EXPECT_EQ(flat.at(0, i), x.at(i / 6, i % 6));
  }
  EXPECT_TRUE(y.guards_are_whole());
}

TEST(CopyOfIntegers, MovesTokensAndMasks) {
  Tensor<std::int32_t> tokens(2, 9, 1), copied(2, 9);
  Tensor<std::uint8_t> mask(2, 9), moved(2, 9, 4);
  for (std::int64_t i = 0; i < 18; ++i) {
    tokens.set(i / 9, i % 9, static_cast<double>(1000000 * i - 7));
    mask.set(i / 9, i % 9, static_cast<double>(i % 2));
  }
  cast<std::int32_t, std::int32_t>(tokens.in(), copied.write());
  cast<std::uint8_t, std::uint8_t>(mask.in(), moved.write());
  expect_same_bits(copied, tokens);
  expect_same_bits(moved, mask);
}

TEST(Add, OfASmallTypeToALargeOneKeepsTheSum) {
  Tensor<bf16> x(1, 3);
  Tensor<float> y(1, 3);
  for (std::int64_t i = 0; i < 3; ++i) {
    x.set(0, i, 1.0);
    y.set(0, i, 1000.125);
  }
  add<bf16, float>(x.in(), y.view());
  EXPECT_EQ(y.at(0, 2), 1001.125F);
}

}  // namespace
}  // namespace orrery::kernels
