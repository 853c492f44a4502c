#include "runtime/comm/flat_cursor.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace orrery::runtime {
namespace {

struct Range {
  std::int64_t begin = 0, end = 0;
};

Range range_of(const Piece& piece, Chunk chunk) {
  if (chunk.first >= 0) {
    CHECK(chunk.first + chunk.count <= piece.count(), chunk.first, chunk.count, piece.count());
    return {chunk.first, chunk.first + chunk.count};
  }
  return {piece.count() * chunk.index / chunk.of, piece.count() * (chunk.index + 1) / chunk.of};
}

}  // namespace

FlatCursor::FlatCursor(std::span<const Piece> pieces, Chunk chunk, std::int64_t element_bytes)
    : pieces_(pieces), chunk_(chunk), element_bytes_(element_bytes) {
  for (const Piece& piece : pieces_) {
    const Range range = range_of(piece, chunk_);
    left_ += range.end - range.begin;
  }
  enter_piece();
}

void FlatCursor::enter_piece() {
  for (; piece_ < pieces_.size(); ++piece_) {
    const Range range = range_of(pieces_[piece_], chunk_);
    at_ = range.begin;
    end_ = range.end;
    if (at_ < end_) return;
  }
}

FlatCursor::Run FlatCursor::peek(std::int64_t at_most) const {
  if (left_ == 0) return {};
  const Piece& piece = pieces_[piece_];
  std::int64_t count = std::min(at_most, end_ - at_);
  if (piece.rows == 1 || piece.stride == piece.columns) return {piece.data + at_ * element_bytes_, count};
  const std::int64_t row = at_ / piece.columns, column = at_ % piece.columns;
  count = std::min(count, piece.columns - column);
  return {piece.data + (row * piece.stride + column) * element_bytes_, count};
}

void FlatCursor::advance(std::int64_t count) {
  DCHECK(count <= left_, count, left_);
  left_ -= count;
  while (count > 0) {
    const std::int64_t step = std::min(count, end_ - at_);
    at_ += step;
    count -= step;
    if (at_ < end_) return;
    ++piece_;
    enter_piece();
  }
}

void copy_elements(FlatCursor& from, FlatCursor& to, std::int64_t count, std::int64_t element_bytes) {
  while (count > 0) {
    const FlatCursor::Run source = from.peek(count), target = to.peek(source.count);
    CHECK(target.count > 0, source.count, count);
    if (source.data != target.data)
      std::memcpy(target.data, source.data, static_cast<std::size_t>(target.count * element_bytes));
    from.advance(target.count);
    to.advance(target.count);
    count -= target.count;
  }
}

}  // namespace orrery::runtime
