// Rotary positions against the reference; turning back undoes turning.
#include "kernels/cpu/attention/rotary_reference.h"
#include "tests/kernels/attention/attention_operands.h"

namespace orrery::kernels {
namespace {

template <typename T>
class RotaryTest : public testing::Test {};
using ElementTypes = testing::Types<float, double, bf16, fp16>;
TYPED_TEST_SUITE(RotaryTest, ElementTypes);

TYPED_TEST(RotaryTest, IsTheReference) {
  using T = TypeParam;
  for (const std::int64_t d : {2, 4, 6, 16, 40, 64, 96, 128})
    for (const std::int64_t batch : {1, 2, 3})
      for (const std::int64_t heads : {1, 3}) {
        const RotaryShape shape{batch, d};
        auto x = Tensor<T>::random(batch * (20 + 30 * heads), heads * d, 1);
        auto expected = x, back = x, expected_back = x;
        const std::string name = "d " + std::to_string(d) + " batch " + std::to_string(batch);
        rotary_forward(shape, x.view());
        reference::rotary(shape, expected.view(), 1.0);
        expect_close(x.view(), expected.view(), kSumTolerance<T>, name);
        rotary_backward(shape, back.view());
        reference::rotary(shape, expected_back.view(), -1.0);
        expect_close(back.view(), expected_back.view(), kSumTolerance<T>, name + " back");
      }
}

TEST(Rotary, BackwardUndoesForward) {
  const auto original = Tensor<double>::random(300, 128, 2);
  auto x = original;
  rotary_forward({3, 64}, x.view());
  auto turned = original;
  EXPECT_GT(std::abs(x.view().at(299, 0) - turned.view().at(299, 0)), 1e-3);
  rotary_backward({3, 64}, x.view());
  expect_close(x.view(), turned.view(), 1e-15, "turned there and back");
}

// The first pair of position 1 turns by one radian.
TEST(Rotary, TurnsByThePosition) {
  std::vector<double> x{1, 0, 1, 0};
  rotary_forward<double>({1, 2}, {x.data(), 2, 2, 2});
  EXPECT_DOUBLE_EQ(x[0], 1.0);
  EXPECT_DOUBLE_EQ(x[1], 0.0);
  EXPECT_DOUBLE_EQ(x[2], std::cos(1.0));
  EXPECT_DOUBLE_EQ(x[3], std::sin(1.0));
}

}  // namespace
}  // namespace orrery::kernels
