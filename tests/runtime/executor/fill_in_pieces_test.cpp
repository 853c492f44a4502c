// Large memory is filled in pieces that are each seen, and no byte is left out.
#include "runtime/cpu/fill_in_pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace orrery::runtime {
namespace {

TEST(FillInPieces, IsProgressAtEveryPiece) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  for (const auto& [bytes, pieces] : {std::pair<std::size_t, int>{1, 1}, {16 * kMiB, 1}, {16 * kMiB + 1, 2}, {50 * kMiB, 4}}) {
    std::vector<std::byte> memory(bytes, std::byte{1});
    int moved = 0;
    fill_in_pieces(memory, std::byte{0xff}, [&] { ++moved; });
    EXPECT_EQ(moved, pieces) << bytes;
    EXPECT_EQ(std::count(memory.begin(), memory.end(), std::byte{0xff}), static_cast<std::ptrdiff_t>(bytes));
  }
}

}  // namespace
}  // namespace orrery::runtime
