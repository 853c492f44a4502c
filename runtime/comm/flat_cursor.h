// Walks the elements of pieces in flat order (row-major, one piece behind the other): the order in which the two sides
// of a transfer agree, however each side's rectangles lie in memory. A cursor is small and is copied freely; what it
// walks must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/comm/communicator.h"

namespace orrery::runtime {

// Elements [count index / of, count (index + 1) / of) of each piece: the index-th of `of` equal chunks where the count
// divides, and otherwise one of `of` nearly equal ones.
// With `first` >= 0: `count` elements from there.
struct Chunk {
  std::int64_t index = 0, of = 1;
  std::int64_t first = -1, count = 0;
};

class FlatCursor {
 public:
  struct Run {
    std::byte* data = nullptr;
    std::int64_t count = 0;  // elements, one behind the other in memory; 0: the end
  };

  FlatCursor() = default;
  FlatCursor(std::span<const Piece> pieces, Chunk chunk, std::int64_t element_bytes);

  std::int64_t left() const { return left_; }  // elements from here to the end
  Run peek(std::int64_t at_most) const;
  void advance(std::int64_t count);  // by no more than the last peek gave, or across pieces

 private:
  void enter_piece();  // sets at_ and end_, passing over empty chunks

  std::span<const Piece> pieces_;
  Chunk chunk_;
  std::int64_t element_bytes_ = 1, left_ = 0;
  std::size_t piece_ = 0;
  std::int64_t at_ = 0, end_ = 0;  // flat, in the piece
};

// Moves the next `count` elements, and both cursors. Elements that lie at the same place already stay.
void copy_elements(FlatCursor& from, FlatCursor& to, std::int64_t count, std::int64_t element_bytes);

}  // namespace orrery::runtime
