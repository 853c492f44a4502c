// The norms against their reference in all types and over odd lengths; their gradients against central
// differences of the forward, in double; and what holds besides.
#include "kernels/cpu/norm/norm.h"

#include <functional>

#include "kernels/cpu/norm/norm_reference.h"
#include "tests/kernels/linear/strided.h"

namespace orrery::kernels {
namespace {

constexpr Norm kNorms[] = {Norm::layer_norm, Norm::rms_norm};

template <typename A, typename B>
struct Types {
  using T = A;
  using G = B;
};
template <typename Types>
class Norms : public testing::Test {};
using AllTypes = testing::Types<Types<float, float>, Types<double, double>, Types<bf16, bf16>,
                                Types<bf16, float>, Types<fp16, fp16>, Types<fp16, float>>;
TYPED_TEST_SUITE(Norms, AllTypes);

// A result is off by its own rounding and by that of the fp32 (or double) numbers it was made of, which the
// norm amplifies by up to 1 / sqrt(1e-5) = 316 where all elements are alike, as where there is one.
template <typename T, typename Result>
double tolerance(double amplification) {
  const double own = std::is_same_v<Result, Wide<Result>> ? 0.0 : 2.0 * rounding<Result>();
  return own + amplification * rounding<Wide<T>>();
}

TYPED_TEST(Norms, ForwardIsTheReference) {
  using T = typename TypeParam::T;
  std::mt19937 random(1);
  for (const Norm norm : kNorms)
    for (const std::int64_t columns : {1, 3, 8, 17, 33, 64, 257, 1030})
      for (const std::int64_t rows : {1, 3, 5})
        for (const bool adds : {false, true}) {
          const auto x = uniform<T>(rows, columns, random), w = uniform<T>(1, columns, random);
          const auto b = uniform<T>(1, columns, random);
          const In<T> bias = rows == 3 ? In<T>{} : b.in();
          auto y = adds ? uniform<T>(rows, columns, random) : Strided<T>(rows, columns), want = y;
          norm_forward<T>(norm, x.in(), w.in(), bias, y.out(adds));
          reference::norm_forward<T>(norm, x.in(), w.in(), bias, want.out(adds));
          ASSERT_LT(distance(y, want), (tolerance<T, T>(400.0))) << rows << " x " << columns;
        }
}

// Everything that a backward writes.
template <typename T, typename G>
struct Gradients {
  Strided<T> dx;
  Strided<G> dw, dbias;
  Gradients(std::int64_t rows, std::int64_t columns, std::int64_t weights, bool adds, std::mt19937& random)
      : dx(adds ? uniform<T>(rows, columns, random) : Strided<T>(rows, columns)),
        dw(adds ? uniform<G>(1, weights, random) : Strided<G>(1, weights)),
        dbias(adds ? uniform<G>(1, weights, random) : Strided<G>(1, weights)) {}
  NormGradients<T, G> out(bool adds, bool biased) {
    return {dx.out(adds), dw.out(adds), biased ? dbias.out(adds) : Out<G>{}};
  }
};

TYPED_TEST(Norms, BackwardIsTheReference) {
  using T = typename TypeParam::T;
  using G = typename TypeParam::G;
  std::mt19937 random(2);
  for (const Norm norm : kNorms)
    for (const std::int64_t columns : {3, 8, 17, 33, 64, 257, 2100})
      for (const std::int64_t rows : {1, 3, 6})
        for (const bool adds : {false, true}) {
          const auto x = uniform<T>(rows, columns, random), dy = uniform<T>(rows, columns, random);
          const auto w = uniform<T>(1, columns, random);
          const bool biased = rows != 3;
          Gradients<T, G> got(rows, columns, columns, adds, random), want = got;
          norm_backward<T, G>(norm, dy.in(), x.in(), w.in(), got.out(adds, biased));
          reference::norm_backward<T, G>(norm, dy.in(), x.in(), w.in(), want.out(adds, biased));
          ASSERT_LT(distance(got.dx, want.dx), (tolerance<T, T>(400.0))) << rows << " x " << columns;
          ASSERT_LT(distance(got.dw, want.dw), (tolerance<T, G>(400.0))) << rows << " x " << columns;
          if (biased) {
            ASSERT_LT(distance(got.dbias, want.dbias), (tolerance<T, G>(400.0))) << rows << " x " << columns;
          } else {
            ASSERT_TRUE(same_bits(got.dbias, want.dbias));
          }
        }
}

TYPED_TEST(Norms, HeadsAreTheReference) {
  using T = typename TypeParam::T;
  using G = typename TypeParam::G;
  std::mt19937 random(3);
  for (const std::int64_t d : {1, 3, 8, 17, 64})
    for (const std::int64_t heads : {1, 2, 5})
      for (const bool adds : {false, true}) {
        const std::int64_t rows = 7, columns = heads * d;
        const auto x = uniform<T>(rows, columns, random), dy = uniform<T>(rows, columns, random);
        const auto w = uniform<T>(1, d, random);
        auto y = adds ? uniform<T>(rows, columns, random) : Strided<T>(rows, columns), want_y = y;
        head_norm_forward<T>(x.in(), w.in(), y.out(adds));
        reference::head_norm_forward<T>(x.in(), w.in(), want_y.out(adds));
        ASSERT_LT(distance(y, want_y), (tolerance<T, T>(400.0))) << heads << " heads of " << d;

        Gradients<T, G> got(rows, columns, d, adds, random), want = got;
        head_norm_backward<T, G>(dy.in(), x.in(), w.in(), got.dx.out(adds), got.dw.out(adds));
        reference::head_norm_backward<T, G>(dy.in(), x.in(), w.in(), want.dx.out(adds), want.dw.out(adds));
        ASSERT_LT(distance(got.dx, want.dx), (tolerance<T, T>(4000.0))) << heads << " heads of " << d;
        ASSERT_LT(distance(got.dw, want.dw), (tolerance<T, G>(400.0))) << heads << " heads of " << d;
      }
}

// No results in the gaps between rows: written ones would have other bits than the NaN of a fresh matrix.
TYPED_TEST(Norms, GapsBetweenRowsAreLeftAlone) {
  using T = typename TypeParam::T;
  using G = typename TypeParam::G;
  std::mt19937 random(4);
  const auto x = uniform<T>(5, 33, random), dy = uniform<T>(5, 33, random), w = uniform<T>(1, 33, random);
  Strided<T> y(5, 33);
  Gradients<T, G> g(5, 33, 33, false, random);
  norm_forward<T>(Norm::layer_norm, x.in(), w.in(), w.in(), y.write());
  norm_backward<T, G>(Norm::layer_norm, dy.in(), x.in(), w.in(), g.out(false, true));
  const auto clear = [](auto& m) {
    for (std::int64_t r = 0; r < m.rows; ++r)
      for (std::int64_t c = 0; c < m.columns; ++c) m.put(r, c, 0.0);
  };
  const auto cleared = [&](auto m) {
    auto fresh = m;
    fresh.elements.assign(fresh.elements.size(), decltype(fresh)(1, 1).elements.back());
    clear(fresh);
    clear(m);
    return same_bits(m, fresh);
  };
  EXPECT_TRUE(cleared(y));
  EXPECT_TRUE(cleared(g.dx));
  EXPECT_TRUE(cleared(g.dw));
  EXPECT_TRUE(cleared(g.dbias));
}

TYPED_TEST(Norms, InPlaceIsTheSame) {
  using T = typename TypeParam::T;
  using G = typename TypeParam::G;
  std::mt19937 random(5);
  const auto x = uniform<T>(5, 67, random), dy = uniform<T>(5, 67, random), w = uniform<T>(1, 67, random);
  for (const Norm norm : kNorms) {
    Strided<T> y(5, 67), in_place = x;
    norm_forward<T>(norm, x.in(), w.in(), {}, y.write());
    norm_forward<T>(norm, in_place.in(), w.in(), {}, in_place.write());
    EXPECT_TRUE(same_bits(in_place, y));

    Gradients<T, G> apart(5, 67, 67, false, random), over_dy = apart, over_x = apart;
    norm_backward<T, G>(norm, dy.in(), x.in(), w.in(), apart.out(false, true));
    over_dy.dx = dy;
    norm_backward<T, G>(norm, over_dy.dx.in(), x.in(), w.in(), over_dy.out(false, true));
    over_x.dx = x;
    norm_backward<T, G>(norm, dy.in(), over_x.dx.in(), w.in(), over_x.out(false, true));
    EXPECT_TRUE(same_bits(over_dy.dx, apart.dx));
    EXPECT_TRUE(same_bits(over_x.dx, apart.dx));
    EXPECT_TRUE(same_bits(over_x.dw, apart.dw));
  }
}

// A mean a thousand times the deviation costs the digits that it must cost, and no more.
template <typename T>
double error_at_a_large_mean() {
  std::mt19937 random(6);
  auto x = uniform<T>(3, 257, random);
  for (std::int64_t r = 0; r < 3; ++r)
    for (std::int64_t c = 0; c < 257; ++c) x.put(r, c, x.at(r, c) + 1000.0);
  Strided<T> w(1, 257), y(3, 257), want = y;
  for (std::int64_t c = 0; c < 257; ++c) w.put(0, c, 1.0);
  norm_forward<T>(Norm::layer_norm, x.in(), w.in(), {}, y.write());
  reference::norm_forward<T>(Norm::layer_norm, x.in(), w.in(), {}, want.write());
  return distance(y, want) / rounding<T>();
}
TEST(NormStatistics, ALargeMeanDoesNotDrownTheDeviations) {
  EXPECT_LT(error_at_a_large_mean<float>(), 8e3);
  EXPECT_LT(error_at_a_large_mean<double>(), 8e3);
}

// d loss / d value by central differences.
double slope(Strided<double>& values, std::int64_t r, std::int64_t c, const std::function<double()>& loss) {
  constexpr double step = 1e-5;
  const double kept = values.at(r, c);
  values.put(r, c, kept + step);
  const double above = loss();
  values.put(r, c, kept - step);
  const double below = loss();
  values.put(r, c, kept);
  return (above - below) / (2.0 * step);
}

void expect_gradient(Strided<double>& values, const Strided<double>& gradient,
                     const std::function<double()>& loss) {
  for (std::int64_t r = 0; r < values.rows; ++r)
    for (std::int64_t c = 0; c < values.columns; ++c)
      EXPECT_NEAR(gradient.at(r, c), slope(values, r, c, loss), 1e-8) << "row " << r << " column " << c;
}

double weighted(const Strided<double>& y, const Strided<double>& dy) {
  double sum = 0.0;
  for (std::int64_t r = 0; r < y.rows; ++r)
    for (std::int64_t c = 0; c < y.columns; ++c) sum += y.at(r, c) * dy.at(r, c);
  return sum;
}

TEST(NormGradient, IsTheSlopeOfTheForward) {
  std::mt19937 random(7);
  for (const Norm norm : kNorms)
    for (const std::int64_t columns : {5, 19}) {
      auto x = uniform<double>(3, columns, random), w = uniform<double>(1, columns, random), bias = w;
      const auto dy = uniform<double>(3, columns, random);
      const auto loss = [&] {
        Strided<double> y(3, columns);
        norm_forward<double>(norm, x.in(), w.in(), bias.in(), y.write());
        return weighted(y, dy);
      };
      Gradients<double, double> g(3, columns, columns, false, random);
      norm_backward<double, double>(norm, dy.in(), x.in(), w.in(), g.out(false, true));
      expect_gradient(x, g.dx, loss);
      expect_gradient(w, g.dw, loss);
      expect_gradient(bias, g.dbias, loss);
    }
}

TEST(NormGradient, OfHeadsIsTheSlopeOfTheForward) {
  std::mt19937 random(8);
  auto x = uniform<double>(2, 3 * 11, random), w = uniform<double>(1, 11, random);
  const auto dy = uniform<double>(2, 3 * 11, random);
  const auto loss = [&] {
    Strided<double> y(2, 3 * 11);
    head_norm_forward<double>(x.in(), w.in(), y.write());
    return weighted(y, dy);
  };
  Gradients<double, double> g(2, 3 * 11, 11, false, random);
  head_norm_backward<double, double>(dy.in(), x.in(), w.in(), g.dx.write(), g.dw.write());
  expect_gradient(x, g.dx, loss);
  expect_gradient(w, g.dw, loss);
}

}  // namespace
}  // namespace orrery::kernels
