// Activations against their reference for every type and bias; gradients by differences; precision; limits.
#include "kernels/cpu/pointwise/activation.h"

#include "kernels/cpu/pointwise/pointwise_reference.h"
#include "tests/kernels/pointwise/tensor.h"

namespace orrery::kernels {
namespace {

constexpr Activation kAll[] = {Activation::gelu, Activation::relu, Activation::squared_relu,
                               Activation::swiglu, Activation::geglu};

// Elements of a bias: none, one for each column of x, or f of a gated kind.
std::vector<std::int64_t> bias_sizes(Activation activation, std::int64_t f) {
  if (is_gated(activation)) return {0, f, 2 * f};
  return {0, f};
}

template <typename T>
class ActivationForward : public ::testing::Test {};
TYPED_TEST_SUITE(ActivationForward, ElementTypes);

TYPED_TEST(ActivationForward, IsTheReference) {
  using T = TypeParam;
  for (const Activation activation : kAll)
    for (const std::int64_t f : {1, 7, 8, 29})
      for (const std::int64_t biases : bias_sizes(activation, f)) {
        auto x = Tensor<T>::random(4, is_gated(activation) ? 2 * f : f, 1, 4.0, 5),
             bias = Tensor<T>::random(1, biases, 2);
        Tensor<T> y(4, f, 2), expected(4, f);
        const In<T> b = biases > 0 ? bias.in() : In<T>{};
        activation_forward<T>(activation, x.in(), b, y.write());
        reference::activation_forward<T>(activation, x.in(), b, expected.write());
        expect_near(y, expected, rounding<T>());
        activation_forward<T>(activation, x.in(), b, y.add());
        reference::activation_forward<T>(activation, x.in(), b, expected.add());
        expect_near(y, expected, 2.0 * rounding<T>());
      }
}

template <typename P>
class ActivationBackward : public ::testing::Test {};
TYPED_TEST_SUITE(ActivationBackward, GradientTypes);

TYPED_TEST(ActivationBackward, IsTheReference) {
  using T = typename TypeParam::T;
  using G = typename TypeParam::G;
  for (const Activation activation : kAll)
    for (const std::int64_t f : {1, 8, 29})
      for (const std::int64_t biases : bias_sizes(activation, f)) {
        const std::int64_t columns = is_gated(activation) ? 2 * f : f;
        auto x = Tensor<T>::random(6, columns, 1, 4.0, 5), bias = Tensor<T>::random(1, biases, 2);
        auto dy = Tensor<T>::random(6, f, 3, 1.0, 1);
        Tensor<T> dx(6, columns, 2), expected(6, columns);
        auto dbias = Tensor<G>::random(1, biases, 4), expected_sums = dbias;
        const In<T> b = biases > 0 ? bias.in() : In<T>{};
        const Out<G> sums = biases > 0 ? dbias.add() : Out<G>{};
        activation_backward<T, G>(activation, dy.in(), x.in(), b, dx.write(), sums);
        const Out<G> reference_sums = biases > 0 ? expected_sums.add() : Out<G>{};
        reference::activation_backward<T, G>(activation, dy.in(), x.in(), b, expected.write(),
                                             reference_sums);
        expect_near(dx, expected, 2.0 * rounding<T>());
        expect_near(dbias, expected_sums, 4.0 * rounding<G>());
      }
}

TYPED_TEST(ActivationBackward, AddsAndWorksInPlace) {
  using T = typename TypeParam::T;
  using G = typename TypeParam::G;
  auto x = Tensor<T>::random(3, 13, 1), dy = Tensor<T>::random(3, 13, 2), dx = Tensor<T>::random(3, 13, 3);
  Tensor<T> expected = dx, written(3, 13);
  activation_backward<T, G>(Activation::gelu, dy.in(), x.in(), {}, dx.add(), {});
  reference::activation_backward<T, G>(Activation::gelu, dy.in(), x.in(), {}, expected.add(), {});
  expect_near(dx, expected, 2.0 * rounding<T>());
  activation_backward<T, G>(Activation::gelu, dy.in(), x.in(), {}, written.write(), {});
  activation_backward<T, G>(Activation::gelu, dy.in(), x.in(), {}, x.write(), {});
  expect_same_bits(x, written);
}

TEST(ActivationGradient, IsTheSlopeOfTheForward) {
  for (const Activation activation : kAll)
    for (const std::int64_t biases : bias_sizes(activation, 5)) {
      const std::int64_t columns = is_gated(activation) ? 10 : 5;
      auto x = Tensor<double>::random(3, columns, 1), bias = Tensor<double>::random(1, biases, 2);
      auto dy = Tensor<double>::random(3, 5, 3);
      Tensor<double> y(3, 5), dx(3, columns), dbias(1, biases);
      const In<double> b = biases > 0 ? bias.in() : In<double>{};
      const auto loss = [&] {
        activation_forward<double>(activation, x.in(), b, y.write());
        return dot(y, dy);
      };
      activation_backward<double, double>(activation, dy.in(), x.in(), b, dx.write(),
                                          biases > 0 ? dbias.write() : Out<double>{});
      expect_gradient(x, dx, loss);
      if (biases > 0) expect_gradient(bias, dbias, loss);
    }
}

// gelu over the range where it is neither 0 nor x, in float against double.
TEST(ActivationPrecision, OfFloatIsAMillionth) {
  constexpr std::int64_t kPoints = 20000;
  Tensor<float> x(1, kPoints), y(1, kPoints), dx(1, kPoints), ones(1, kPoints);
  for (std::int64_t i = 0; i < kPoints; ++i) {
    x.set(0, i, -12.0 + 24.0 * static_cast<double>(i) / kPoints);
    ones.set(0, i, 1.0);
  }
  for (const Activation activation : {Activation::gelu, Activation::squared_relu}) {
    activation_forward<float>(activation, x.in(), {}, y.write());
    activation_backward<float, float>(activation, ones.in(), x.in(), {}, dx.write(), {});
    for (std::int64_t i = 0; i < kPoints; ++i) {
      const auto at = reference::curve(activation, x.value(0, i));
      const double tolerance = x.value(0, i) > -2.0 ? 1e-6 * std::abs(at.value) : 1e-6;
      ASSERT_NEAR(y.value(0, i), at.value, tolerance) << x.value(0, i);
      ASSERT_NEAR(dx.value(0, i), at.slope, 1e-6 * std::max(1.0, at.slope)) << x.value(0, i);
    }
  }
}

TEST(ActivationPrecision, IsFiniteFarOut) {
  Tensor<float> x(1, 8), y(1, 8), dx(1, 8), ones(1, 8), gated(1, 16);
  const double far[] = {-1e30, -1e4, -90.0, -40.0, 40.0, 90.0, 1e4, 1e30};
  for (std::int64_t i = 0; i < 8; ++i) {
    x.set(0, i, far[i]);
    gated.set(0, i, far[i]);
    ones.set(0, i, 1.0);
    gated.set(0, 8 + i, 1.0);
  }
  const auto expect_limits = [&] {
    for (std::int64_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(y.at(0, i), far[i] > 0.0 ? x.at(0, i) : 0.0F, 1e-15F) << far[i];
      EXPECT_NEAR(dx.at(0, i), far[i] > 0.0 ? 1.0F : 0.0F, 1e-15F) << far[i];
    }
  };
  activation_forward<float>(Activation::gelu, x.in(), {}, y.write());
  activation_backward<float, float>(Activation::gelu, ones.in(), x.in(), {}, dx.write(), {});
  expect_limits();
  Tensor<float> dgated(1, 16);
  activation_forward<float>(Activation::swiglu, gated.in(), {}, y.write());
  activation_backward<float, float>(Activation::swiglu, ones.in(), gated.in(), {}, dgated.write(), {});
  for (std::int64_t i = 0; i < 8; ++i) dx.at(0, i) = dgated.at(0, i);
  expect_limits();
}

TEST(ActivationPrecision, NanIsNotLost) {
  for (const Activation activation : {Activation::gelu, Activation::swiglu}) {
    const std::int64_t columns = is_gated(activation) ? 18 : 9;
    auto x = Tensor<float>::random(1, columns, 1), dy = Tensor<float>::random(1, 9, 2);
    Tensor<float> y(1, 9), dx(1, columns);
    x.at(0, 3) = NAN;
    activation_forward<float>(activation, x.in(), {}, y.write());
    activation_backward<float, float>(activation, dy.in(), x.in(), {}, dx.write(), {});
    EXPECT_TRUE(std::isnan(y.at(0, 3)));
    EXPECT_TRUE(std::isnan(dx.at(0, 3)));
    EXPECT_FALSE(std::isnan(y.at(0, 4)));
  }
}

}  // namespace
}  // namespace orrery::kernels
