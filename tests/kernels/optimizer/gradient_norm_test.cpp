// Squared norms of all shards of a vector with replicated parts; what is not finite shows; clipping.
#include "kernels/cpu/optimizer/gradient_norm.h"

#include "kernels/cpu/optimizer/optimizer_reference.h"
#include "tests/kernels/pointwise/tensor.h"

namespace orrery::kernels {
namespace {

template <typename G>
class GradientNorm : public ::testing::Test {};
TYPED_TEST_SUITE(GradientNorm, ElementTypes);

// Every shard of a vector of 60, cut in all ways, for units with replicated parts at both ends.
TYPED_TEST(GradientNorm, CountsReplicatedPartsWhereTold) {
  using G = TypeParam;
  auto x = Tensor<G>::random(1, 60, 1);
  for (const FlatRange& unit : {FlatRange{0, 0, 11, 40, 57}, FlatRange{0, 0, 0, 60, 60},
                                FlatRange{0, 0, 20, 20, 60}, FlatRange{0, 0, 5, 50, 50}})
    for (std::int64_t begin = 0; begin < 60; begin += 7)
      for (std::int64_t end = begin; end <= 60; end += 3)
        for (const bool counts : {true, false}) {
          FlatRange range = unit;
          range.first = begin;
          const In<G> shard{&x.at(0, begin), 1, end - begin, end - begin};
          const double expected = reference::squared_norm<G>(shard, range, counts);
          ASSERT_NEAR(squared_norm<G>(shard, range, counts), expected, 1e-12 * (1.0 + expected))
              << begin << " .. " << end;
        }
}

TYPED_TEST(GradientNorm, ShowsOneInfinityAndOneNan) {
  auto x = Tensor<TypeParam>::random(1, 1000, 1);
  x.set(0, 777, INFINITY);
  EXPECT_TRUE(std::isinf(squared_norm<TypeParam>(x.in(), {}, true)));
  x.set(0, 777, NAN);
  EXPECT_TRUE(std::isnan(squared_norm<TypeParam>(x.in(), {}, true)));
}

TEST(GradientNormOfLargeGradients, DoesNotOverflow) {
  Tensor<float> x(1, 3);
  for (std::int64_t i = 0; i < 3; ++i) x.at(0, i) = 3e38F;
  EXPECT_NEAR(squared_norm<float>(x.in(), {}, true) / (3.0 * 9e76), 1.0, 1e-6);
}

TEST(GradientFactor, ClipsTheUnscaledNorm) {
  EXPECT_EQ(gradient_factor(0.0, 1e10, 1.0), 1.0);
  EXPECT_EQ(gradient_factor(1.0, 0.25, 1.0), 1.0);
  EXPECT_NEAR(gradient_factor(1.0, 16.0, 1.0), 0.25, 1e-6);
  EXPECT_EQ(gradient_factor(0.0, 1e10, 1024.0), 1.0 / 1024.0);
  EXPECT_NEAR(gradient_factor(1.0, 16.0 * 1024.0 * 1024.0, 1024.0), 0.25 / 1024.0, 1e-9);
}

}  // namespace
}  // namespace orrery::kernels
