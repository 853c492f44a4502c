// Selection against a stable sort, with ties; selection and rest add up; exact indices.
#include "kernels/cpu/optimizer/top_k.h"

#include "kernels/cpu/optimizer/optimizer_reference.h"
#include "tests/kernels/pointwise/tensor.h"

namespace orrery::kernels {
namespace {

template <typename G>
class TopK : public ::testing::Test {};
TYPED_TEST_SUITE(TopK, ElementTypes);

// Values from a small set, so that many magnitudes are equal, with both signs.
template <typename G>
Tensor<G> with_ties(std::int64_t count) {
  Tensor<G> x(1, count);
  for (std::int64_t i = 0; i < count; ++i)
    x.set(0, i, static_cast<double>(draw(9, static_cast<std::uint64_t>(i)) % 15) - 7.0);
  return x;
}

TYPED_TEST(TopK, SelectsTheLargestWithTheLowerIndexFirst) {
  using G = TypeParam;
  using W = Wide<G>;
  for (const std::int64_t count : {1, 6, 100})
    for (const bool ties : {false, true})
      for (std::int64_t k = 1; k <= count; k += 1 + k / 3) {
        auto x = ties ? with_ties<G>(count) : Tensor<G>::random(1, count, 3);
        Tensor<W> selected(2, k, 1);
        top_k_select<G>(x.in(), selected.view());
        const auto expected = reference::largest<G>(x.in(), k);
        for (std::int64_t i = 0; i < k; ++i) {
          const std::int64_t index = expected[static_cast<std::size_t>(i)];
          ASSERT_EQ(index_of(selected.at(1, i)), index) << i << " of " << k;
          ASSERT_EQ(static_cast<double>(selected.at(0, i)), x.value(0, index));
        }
        EXPECT_TRUE(selected.guards_are_whole());
      }
}

// What is applied and what is kept add up to what there was; a shard gets its part.
TYPED_TEST(TopK, SplitsAVectorIntoSelectionAndRest) {
  using G = TypeParam;
  using W = Wide<G>;
  auto x = Tensor<G>::random(1, 50, 1), before = x;
  Tensor<W> selected(2, 13);
  Tensor<G> sum(1, 50), shard(1, 20);
  top_k_select<G>(x.in(), selected.view());
  top_k_keep_rest<G>(selected.in(), x.view());
  top_k_apply<G>(selected.in(), 0, sum.view());
  top_k_apply<G>(selected.in(), 25, shard.view());
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(x.value(0, i) + sum.value(0, i), before.value(0, i));
    EXPECT_TRUE(x.value(0, i) == 0.0 || sum.value(0, i) == 0.0);
    kept += x.value(0, i) != 0.0 ? 1 : 0;
    if (i >= 25 && i < 45) {
      EXPECT_EQ(shard.value(0, i - 25), sum.value(0, i));
    }
  }
  EXPECT_EQ(kept, 37);
}

TEST(TopKApply, AddsTheBlocksOfAllMembers) {
  Tensor<float> x(4, 2), y(1, 5);
  for (std::int64_t member = 0; member < 2; ++member)
    for (std::int64_t i = 0; i < 2; ++i) {
      x.at(2 * member, i) = static_cast<float>(10 * member + i + 1);
      x.at(2 * member + 1, i) = stored_index<float>(member + i);
    }
  top_k_apply<float>(x.in(), 0, y.view());
  EXPECT_EQ(y.at(0, 0), 1.0F);
  EXPECT_EQ(y.at(0, 1), 2.0F + 11.0F);
  EXPECT_EQ(y.at(0, 2), 12.0F);
}

TEST(TopKIndices, AreExactBeyondTheFloatsThatAreIntegers) {
  for (const std::int64_t index : {std::int64_t{0}, std::int64_t{16777217}, std::int64_t{2147483647}})
    EXPECT_EQ(index_of(stored_index<float>(index)), index);
  EXPECT_EQ(index_of(stored_index<double>(std::int64_t{1} << 62)), std::int64_t{1} << 62);
}

TEST(TopKSelect, ShowsNan) {
  auto x = Tensor<float>::random(1, 9, 1);
  x.at(0, 4) = NAN;
  Tensor<float> selected(2, 1);
  top_k_select<float>(x.in(), selected.view());
  EXPECT_EQ(index_of(selected.at(1, 0)), 4);
}

}  // namespace
}  // namespace orrery::kernels
