// Quantisation against its plain meaning, its error bound, the bytes it sends, and sums of several senders.
#include "kernels/cpu/quantise/block_quantise.h"

#include <limits>

#include "kernels/cpu/quantise/quantise_reference.h"
#include "tests/kernels/pointwise/tensor.h"

namespace orrery::kernels {
namespace {

template <typename T>
class BlockQuantise : public ::testing::Test {};
TYPED_TEST_SUITE(BlockQuantise, ElementTypes);

double tolerance_of(std::size_t bytes) { return bytes == 2 ? 1e-2 : 1e-6; }

TYPED_TEST(BlockQuantise, IsItsPlainMeaning) {
  using T = TypeParam;
  for (const int bits : {8, 4})
    for (const std::int64_t columns : {1, 7, 32, 45, 300}) {
      const BlockFormat f{.block = 16, .bits = bits};
      auto x = Tensor<T>::random(3, columns, 5, 2.0, 2);
      Tensor<std::uint8_t> y(3, payload_bytes(columns, f), 3);
      Tensor<T> z(3, columns, 1);
      quantise<T>(x.in(), f, y.view());
      dequantise<T>(y.in(), f, z.write());
      for (std::int64_t r = 0; r < 3; ++r)
        for (std::int64_t c = 0; c < columns; ++c) {
          const double expected = reference::value_after<T>(x.in(), r, c, f);
          EXPECT_NEAR(z.value(r, c), expected, tolerance_of(sizeof(T)) * 2.0) << bits << " bits, column " << c;
          const double half = 0.5 * static_cast<double>(reference::block_scale<T>(x.in(), r, c, f));
          EXPECT_LE(std::abs(z.value(r, c) - x.value(r, c)), half * 1.001 + tolerance_of(sizeof(T)));
        }
      EXPECT_TRUE(y.guards_are_whole() && z.guards_are_whole());
    }
}

// 8 bits: a byte an element and a float a block; 4 bits: half of that, rounded up.
TEST(PayloadBytes, AreExact) {
  EXPECT_EQ(payload_bytes(1024, {.block = 256, .bits = 8}), 1024 + 4 * 4);
  EXPECT_EQ(payload_bytes(1000, {.block = 256, .bits = 8}), 1000 + 4 * 4);
  EXPECT_EQ(payload_bytes(1024, {.block = 256, .bits = 4}), 512 + 4 * 4);
  EXPECT_EQ(payload_bytes(7, {.block = 4, .bits = 4}), 4 + 4 * 2);
}

// Rows i, i + 2, i + 4 of what three members sent add up in row i.
TEST(Dequantise, AddsUpTheSenders) {
  const BlockFormat f{.block = 8, .bits = 8};
  auto x = Tensor<float>::random(6, 20, 3);
  Tensor<std::uint8_t> sent(6, payload_bytes(20, f));
  Tensor<float> each(6, 20), sum(2, 20), added = Tensor<float>::random(2, 20, 9), before = added;
  quantise<float>(x.in(), f, sent.view());
  dequantise<float>(sent.in(), f, each.write());
  dequantise<float>(sent.in(), f, sum.write());
  dequantise<float>(sent.in(), f, added.add());
  for (std::int64_t r = 0; r < 2; ++r)
    for (std::int64_t c = 0; c < 20; ++c) {
      const double total = each.value(r, c) + each.value(r + 2, c) + each.value(r + 4, c);
      EXPECT_NEAR(sum.value(r, c), total, 1e-5);
      EXPECT_NEAR(added.value(r, c), before.value(r, c) + total, 1e-5);
    }
}

// The largest of a block is exact, zeros stay zeros, and an overflow does not become a number.
TEST(Quantise, EdgeValues) {
  const BlockFormat f{.block = 4, .bits = 4};
  Tensor<float> x(1, 12), z(1, 12);
  for (std::int64_t c = 0; c < 4; ++c) x.set(0, c, c == 2 ? -7.0 : 1.0);
  for (std::int64_t c = 4; c < 8; ++c) x.set(0, c, 0.0);
  x.at(0, 9) = std::numeric_limits<float>::infinity();
  Tensor<std::uint8_t> y(1, payload_bytes(12, f));
  quantise<float>(x.in(), f, y.view());
  dequantise<float>(y.in(), f, z.write());
  EXPECT_EQ(z.value(0, 2), -7.0);
  EXPECT_EQ(z.value(0, 0), 1.0);
  for (std::int64_t c = 4; c < 8; ++c) EXPECT_EQ(z.value(0, c), 0.0);
  for (std::int64_t c = 8; c < 12; ++c) EXPECT_TRUE(std::isnan(z.value(0, c)));
}

}  // namespace
}  // namespace orrery::kernels
