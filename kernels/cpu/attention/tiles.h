// Working memory of one kernel call: tiles cut from one piece that the thread keeps (kernels/scratch.h). Each
// begins on a cache line and holds whatever was there before.
#pragma once

#include <array>

#include "kernels/round_up.h"
#include "kernels/scratch.h"

namespace orrery::kernels {

struct AttentionTiles {};

// One pointer for each count of elements. Valid until the thread's next call.
template <typename W, std::size_t N>
std::array<W*, N> cut_tiles(const std::int64_t (&counts)[N]) {
  constexpr std::int64_t kLine = 64 / sizeof(W);
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += round_up(count, kLine);
  W* next = scratch<AttentionTiles, W>(total);
  std::array<W*, N> tiles{};
  for (std::size_t i = 0; i < N; ++i) {
    tiles[i] = next;
    next += round_up(counts[i], kLine);
  }
  return tiles;
}

}  // namespace orrery::kernels
