// The products against their reference, bit for bit on numbers whose sums are exact; then what holds for any
// numbers.
#include "kernels/cpu/linear/gemm.h"

#include "kernels/cpu/linear/gemm_reference.h"
#include "tests/kernels/linear/strided.h"

namespace orrery::kernels {
namespace {

struct Extents {
  std::int64_t m, n, k;
};

// Every combination of small extents around the sizes of lanes, tiles and strips; then shapes that cross each
// block.
std::vector<Extents> shapes() {
  std::vector<Extents> all;
  for (const std::int64_t m : {1, 3, 4, 8, 17, 33})
    for (const std::int64_t n : {1, 3, 8, 17, 24, 33})
      for (const std::int64_t k : {1, 3, 8, 17, 33}) all.push_back({m, n, k});
  for (const Extents& e : {Extents{64, 64, 64},
                           {257, 33, 17},
                           {17, 257, 33},
                           {33, 17, 257},
                           {5, 7, 600},
                           {193, 9, 300},
                           {2, 1540, 5},
                           {1, 1600, 259},
                           {800, 3, 270},
                           {64, 96, 256},
                           {0, 5, 3}})
    all.push_back(e);
  return all;
}

template <typename Types>
class Gemm : public testing::Test {};

template <typename A, typename B>
struct Types {
  using T = A;
  using G = B;
};
using AllTypes = testing::Types<Types<float, float>, Types<double, double>, Types<bf16, bf16>,
                                Types<bf16, float>, Types<fp16, fp16>, Types<fp16, float>>;
TYPED_TEST_SUITE(Gemm, AllTypes);

TYPED_TEST(Gemm, TnIsTheReference) {
  using T = typename TypeParam::T;
  std::mt19937 random(1);
  for (const Extents& e : shapes())
    for (const bool adds : {false, true})
      for (const bool biased : {false, true}) {
        const auto x = eighths<T>(e.m, e.k, random), w = eighths<T>(e.n, e.k, random),
                   b = eighths<T>(1, e.n, random);
        const In<T> bias = biased ? b.in() : In<T>{};
        auto y = adds ? eighths<T>(e.m, e.n, random) : Strided<T>(e.m, e.n), want = y;
        gemm_tn<T>(x.in(), w.in(), bias, y.out(adds));
        reference::gemm_tn<T>(x.in(), w.in(), bias, want.out(adds));
        ASSERT_TRUE(same_bits(y, want))
            << e.m << " x " << e.n << " x " << e.k << " adds " << adds << " bias " << biased;
      }
}

TYPED_TEST(Gemm, NnIsTheReference) {
  using T = typename TypeParam::T;
  std::mt19937 random(2);
  for (const Extents& e : shapes())
    for (const bool adds : {false, true}) {
      const auto dy = eighths<T>(e.m, e.k, random), w = eighths<T>(e.k, e.n, random);
      auto dx = adds ? eighths<T>(e.m, e.n, random) : Strided<T>(e.m, e.n), want = dx;
      gemm_nn<T>(dy.in(), w.in(), dx.out(adds));
      reference::gemm_nn<T>(dy.in(), w.in(), want.out(adds));
      ASSERT_TRUE(same_bits(dx, want)) << e.m << " x " << e.n << " x " << e.k << " adds " << adds;
    }
}

TYPED_TEST(Gemm, NtIsTheReference) {
  using T = typename TypeParam::T;
  using G = typename TypeParam::G;
  std::mt19937 random(3);
  for (const Extents& e : shapes())
    for (const bool adds : {false, true}) {
      const auto dy = eighths<T>(e.k, e.m, random), x = eighths<T>(e.k, e.n, random);
      auto dw = adds ? eighths<G>(e.m, e.n, random) : Strided<G>(e.m, e.n), want = dw;
      gemm_nt<T, G>(dy.in(), x.in(), dw.out(adds));
      reference::gemm_nt<T, G>(dy.in(), x.in(), want.out(adds));
      ASSERT_TRUE(same_bits(dw, want)) << e.m << " x " << e.n << " x " << e.k << " adds " << adds;
    }
}

TYPED_TEST(Gemm, BiasBackwardIsTheReference) {
  using T = typename TypeParam::T;
  using G = typename TypeParam::G;
  std::mt19937 random(4);
  for (const std::int64_t rows : {1, 3, 4, 17, 257})
    for (const std::int64_t columns : {1, 3, 8, 17, 64, 257})
      for (const bool adds : {false, true}) {
        const auto dy = eighths<T>(rows, columns, random);
        auto dbias = adds ? eighths<G>(1, columns, random) : Strided<G>(1, columns), want = dbias;
        bias_backward<T, G>(dy.in(), dbias.out(adds));
        reference::bias_backward<T, G>(dy.in(), want.out(adds));
        ASSERT_TRUE(same_bits(dbias, want)) << rows << " x " << columns << " adds " << adds;
      }
}

// Where sums are not exact, they are those of fp32 (of double for double), rounded once: not of 16 bits.
TYPED_TEST(Gemm, SumsAreKeptInTheWideType) {
  using T = typename TypeParam::T;
  using G = typename TypeParam::G;
  std::mt19937 random(5);
  const auto x = uniform<T>(33, 1030, random), w = uniform<T>(40, 1030, random);
  const auto dy = uniform<T>(1030, 33, random), z = uniform<T>(1030, 40, random);
  Strided<T> y(33, 40), want_y = y;
  Strided<G> dw(33, 40), want_dw = dw;
  gemm_tn<T>(x.in(), w.in(), {}, y.write());
  gemm_nt<T, G>(dy.in(), z.in(), dw.write());
  reference::gemm_tn<T>(x.in(), w.in(), {}, want_y.write());
  reference::gemm_nt<T, G>(dy.in(), z.in(), want_dw.write());
  const double sums = 400.0 * rounding<Wide<T>>();  // a thousand roundings of sums of about 10, at random
  // A sum so near the middle of two neighbours that it falls to the other one is a whole unit off.
  const double units = std::is_same_v<T, Wide<T>> ? 1.0 : 2.0;
  EXPECT_LT(distance(y, want_y), units * rounding<T>() + sums);
  EXPECT_LT(distance(dw, want_dw), 2.0 * rounding<G>() + sums);
}

// So a shard of the tokens computes what the whole does, and a call is the same wherever its operands lie.
TYPED_TEST(Gemm, AnElementDependsOnItsRowAndColumnAlone) {
  using T = typename TypeParam::T;
  std::mt19937 random(6);
  const std::int64_t m = 217, n = 61, k = 300;
  const auto x = uniform<T>(m, k, random), w = uniform<T>(n, k, random), bias = uniform<T>(1, n, random);
  Strided<T> whole(m, n), parts = whole;
  gemm_tn<T>(x.in(), w.in(), bias.in(), whole.write());
  for (const auto& [first, rows] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {1, 5}, {6, 200}, {206, 11}})
    for (const auto& [column, columns] : {std::pair<std::int64_t, std::int64_t>{0, 40}, {40, 21}})
      gemm_tn<T>({x.in().row(first), rows, k, x.stride}, {w.in().row(column), columns, k, w.stride},
                 {bias.elements.data() + column, 1, columns, columns},
                 {{parts.view().row(first) + column, rows, columns, parts.stride}});
  EXPECT_TRUE(same_bits(parts, whole));
}

TEST(Gemm, OfNoDepthIsTheBias) {
  const Strided<float> x(2, 0), w(3, 0);
  std::mt19937 random(7);
  const auto bias = eighths<float>(1, 3, random);
  Strided<float> y(2, 3);
  gemm_tn<float>(x.in(), w.in(), bias.in(), y.write());
  for (std::int64_t c = 0; c < 3; ++c) EXPECT_EQ(y.at(1, c), bias.at(0, c));
  gemm_tn<float>(x.in(), w.in(), bias.in(), y.update());
  for (std::int64_t c = 0; c < 3; ++c) EXPECT_EQ(y.at(0, c), 2.0 * bias.at(0, c));
}

TEST(Gemm, BeyondTheLargestFp16IsInfinite) {
  Strided<fp16> x(1, 300), w(1, 300), y(1, 1);
  for (std::int64_t p = 0; p < 300; ++p) {
    x.put(0, p, 16.0);
    w.put(0, p, p < 256 ? 16.0 : -16.0);
  }
  gemm_tn<fp16>(x.in(), w.in(), {}, y.write());
  EXPECT_EQ(y.at(0, 0), 16.0 * 16.0 * (256 - 44)) << "the sum over 256 alone, 65536, is no fp16; 54272 is";
  w = Strided<fp16>(1, 300);
  for (std::int64_t p = 0; p < 300; ++p) w.put(0, p, 16.0);
  gemm_tn<fp16>(x.in(), w.in(), {}, y.write());
  EXPECT_TRUE(std::isinf(y.at(0, 0)));
}

}  // namespace
}  // namespace orrery::kernels
