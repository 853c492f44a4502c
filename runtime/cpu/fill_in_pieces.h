// Fills fresh memory, which the operating system hands out page by page: tens of seconds for a hundred GB. So that nobody
// takes that for a standstill, `moved` is called after each piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>

namespace orrery::runtime {

inline void fill_in_pieces(std::span<std::byte> memory, std::byte value, const std::function<void()>& moved) {
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  while (!memory.empty()) {
    const auto piece = memory.first(std::min(memory.size(), kPiece));
    std::memset(piece.data(), static_cast<int>(value), piece.size());
    if (moved) moved();
    memory = memory.subspan(piece.size());
  }
}

}  // namespace orrery::runtime
