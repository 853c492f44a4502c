// The innermost product: 4 rows by up to 3 strips of columns, kept in 12 vector registers over the whole
// depth of a block; for each step of the depth 3 loads, 4 broadcasts and 12 fused multiply-adds, which is
// what it takes to keep two such units busy through their latency of 4. The finished tile is then added to
// what earlier blocks of the depth left, and after the last block the bias and what the result held before.
#pragma once

#include <algorithm>

#include "kernels/convert.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

inline constexpr std::int64_t kTileRows = 4, kTileStrips = 3;

// What becomes of the finished tiles of one block. G: the result's type.
template <typename G>
struct TileEnd {
  Matrix<Wide<G>>
      partial;  // sums over earlier blocks of the depth, and where this block's go; may be the result itself
  bool continues = false;         // partial holds something already
  bool last = false;              // the last block: the tile goes to `result`
  const Wide<G>* bias = nullptr;  // one row, or absent
  Matrix<G> result;
  bool adds = false;  // to what the result holds, at the end
};

namespace tile_detail {

template <int strips, typename W>
ORRERY_ALWAYS_INLINE void multiply(const W* left, const W* right, std::int64_t depth, W* tile) {
  constexpr std::int64_t L = lane_count<W>;
  Lanes<W> sums[kTileRows][strips] = {};
  for (std::int64_t p = 0; p < depth; ++p) {
    Lanes<W> columns[strips];
    for (int s = 0; s < strips; ++s) columns[s] = load(right + (s * depth + p) * L);
    for (int i = 0; i < kTileRows; ++i) {
      const Lanes<W> row = all_lanes(left[p * L + i]);
      for (int s = 0; s < strips; ++s) sums[i][s] += row * columns[s];
    }
  }
  for (int i = 0; i < kTileRows; ++i)
    for (int s = 0; s < strips; ++s) store(tile + (i * strips + s) * L, sums[i][s]);
}

// One row of one strip: `count` elements from (row, column) on.
template <typename G>
ORRERY_ALWAYS_INLINE void finish_row(const TileEnd<G>& end, Lanes<G> sum, std::int64_t row,
                                     std::int64_t column, std::int64_t count) {
  const bool whole = count >= lane_count<G>;
  const auto read = [&](const auto* from) { return whole ? load(from) : load_part(from, count); };
  const auto write = [&](auto* to, Lanes<G> v) { whole ? store(to, v) : store_part(to, v, count); };
  if (end.continues) sum += read(&end.partial.at(row, column));
  if (!end.last) return write(&end.partial.at(row, column), sum);
  if (end.bias != nullptr) sum += read(end.bias + column);
  if (end.adds) sum += read(&end.result.at(row, column));
  write(&end.result.at(row, column), sum);
}

}  // namespace tile_detail

// Rows [0, rows) by columns [column, column + columns) of a block whose left strips begin at `left`; columns
// <= strips * L.
template <int strips, typename G>
void multiply_columns(const Wide<G>* left, const Wide<G>* right, std::int64_t depth, std::int64_t rows,
                      std::int64_t column, std::int64_t columns, const TileEnd<G>& end) {
  constexpr std::int64_t L = lane_count<G>;
  for (std::int64_t i = 0; i < rows; i += kTileRows) {
    alignas(64) Wide<G> tile[kTileRows * strips * L];
    tile_detail::multiply<strips>(left + i / L * L * depth + i % L, right, depth, tile);
    for (std::int64_t r = 0; r < std::min(kTileRows, rows - i); ++r)
      for (std::int64_t s = 0; s < strips; ++s)
        tile_detail::finish_row(end, load(tile + (r * strips + s) * L), i + r, column + s * L,
                                columns - s * L);
  }
}

}  // namespace orrery::kernels
