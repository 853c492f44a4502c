// The combination of elements: its order, special values, and the walk over memory under it.
#include "runtime/comm/reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/comm/rounds.h"
#include "tests/runtime/comm/memory.h"

namespace orrery::runtime::test {
namespace {

template <typename T>
std::vector<T> reduced(Element element, CommReduce reduce, std::vector<std::vector<T>> members) {
  std::vector<Piece> pieces;
  for (std::vector<T>& member : members) {
    const auto count = static_cast<std::int64_t>(member.size());
    pieces.push_back({reinterpret_cast<std::byte*>(member.data()), 1, count, count});
  }
  std::vector<FlatCursor> sources;
  for (const Piece& piece : pieces) sources.emplace_back(std::span(&piece, 1), Chunk{}, sizeof(T));
  std::vector<T> y(members.front().size());
  const Piece target{reinterpret_cast<std::byte*>(y.data()), 1, pieces.front().columns, pieces.front().columns};
  FlatCursor to(std::span(&target, 1), Chunk{}, sizeof(T));
  reduce_elements({element, reduce, false}, sources, to, target.count());
  return y;
}

TEST(Reduction, GoesFromTheFirstMemberOn) {
  // (2^24 + 1) + 1 loses both ones, 1 + 1 + 2^24 none.
  EXPECT_EQ(reduced<float>(Element::fp32, CommReduce::sum, {{0x1p24F}, {1}, {1}}).front(), 0x1p24F);
  EXPECT_EQ(reduced<float>(Element::fp32, CommReduce::sum, {{1}, {1}, {0x1p24F}}).front(), 0x1p24F + 2);
}

TEST(Reduction, KeepsSpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::signbit(reduced<float>(Element::fp32, CommReduce::sum, {{-0.0F}}).front()));
  EXPECT_EQ(reduced<float>(Element::fp32, CommReduce::sum, {{1}, {kInfinity}}).front(), kInfinity);
  EXPECT_TRUE(std::isnan(reduced<float>(Element::fp32, CommReduce::sum, {{-kInfinity}, {kInfinity}}).front()));
  EXPECT_TRUE(std::isnan(reduced<float>(Element::fp32, CommReduce::max, {{1}, {kNan}, {2}}).front()));
  EXPECT_TRUE(std::isnan(reduced<float>(Element::fp32, CommReduce::max, {{kNan}, {1}}).front()));
  EXPECT_EQ(reduced<float>(Element::fp32, CommReduce::max, {{-3}, {-kInfinity}}).front(), -3);
}

TEST(Reduction, IntegersWrapAround) {
  constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(reduced<std::int32_t>(Element::int32, CommReduce::sum, {{kLargest}, {1}}).front(), -kLargest - 1);
  EXPECT_EQ(reduced<std::int32_t>(Element::int32, CommReduce::max, {{kLargest}, {-1}}).front(), kLargest);
  EXPECT_EQ(reduced<std::uint8_t>(Element::byte, CommReduce::sum, {{200}, {100}}).front(), 44);
}

// bf16 has 8 bits: 256 + 1 + 1, rounded after each sum, stays 256; in fp32 and rounded once it is 258.
TEST(Reduction, RoundsOnce) {
  EXPECT_EQ(reduced<std::uint16_t>(Element::bf16, CommReduce::sum, {{0x4380}, {0x3F80}, {0x3F80}}).front(), 0x4381);
}

TEST(FlatCursor, ChunksOfEveryLayoutAreTheElementsInOrder) {
  for (const std::int64_t count : {0, 1, 6, 35, 210})
    for (const std::int64_t of : {1, 2, 3, 5})
      for (const Layout layout : {Layout::flat, Layout::rows, Layout::narrow}) {
        const Pieces content{drawn(Element::fp64, count, 1), {}, drawn(Element::fp64, 2 * count, 2)};
        std::vector<Rectangle> memory = rectangles(content, Element::fp64, layout);
        const std::vector<Piece> all = pieces(memory);
        Pieces found(content.size());
        for (std::int64_t index = 0; index < of; ++index)
          for (std::size_t p = 0; p < all.size(); ++p) {
            FlatCursor cursor(std::span(&all[p], 1), {index, of}, 8);
            while (cursor.left() > 0) {
              const FlatCursor::Run run = cursor.peek(4);
              ASSERT_GT(run.count, 0);
              found[p].insert(found[p].end(), run.data, run.data + run.count * 8);
              cursor.advance(run.count);
            }
          }
        EXPECT_EQ(found, content) << count << " in " << of;

        Flat copied(static_cast<std::size_t>(3 * count * 8));
        const Piece flat{copied.data(), 1, 3 * count, 3 * count};
        FlatCursor from(all, {}, 8), to(std::span(&flat, 1), {}, 8);
        copy_elements(from, to, from.left(), 8);
        EXPECT_EQ(copied, concatenated(content));
      }
}

// Every element of every y is written exactly once: by what is taken, chunk by chunk.
TEST(Rounds, FillEveryTargetOnce) {
  for (const CommKind kind : {CommKind::all_reduce, CommKind::reduce_scatter, CommKind::all_gather,
                              CommKind::all_to_all, CommKind::broadcast})
    for (int seats = 1; seats <= 5; ++seats)
      for (int to = 0; to < seats; ++to) {
        const Plan plan{kind, seats};
        std::vector<int> written(60, kind == CommKind::broadcast && to == 0 ? 1 : 0);
        for (int round = 0; round < plan.rounds(); ++round)
          for (int from = 0; from < seats; ++from) {
            if (!plan.takes(round, to, from) || (plan.reduces(round) && from > 0)) continue;
            const Chunk chunk = plan.reduces(round) ? plan.target(round, to, to) : plan.target(round, to, from);
            for (std::int64_t i = 60 * chunk.index / chunk.of; i < 60 * (chunk.index + 1) / chunk.of; ++i)
              ++written[static_cast<std::size_t>(i)];
          }
        EXPECT_EQ(written, std::vector<int>(60, 1)) << name_of(kind) << " " << seats << " " << to;
      }
}

}  // namespace
}  // namespace orrery::runtime::test
