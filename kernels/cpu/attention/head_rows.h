// One head of one sequence, gathered from rows that lie `batch` rows apart into the tiles that tile_product.h
// multiplies, and written back. Elements are widened and scaled on the way in, scaled and rounded on the way
// out.
#pragma once

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/cpu/attention/tile_product.h"
#include "kernels/lane_loop.h"
#include "kernels/lane_transpose.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

template <typename T>
struct HeadRows {
  T* first;
  std::int64_t stride, head_dim;
  T* row(std::int64_t position) const { return first + position * stride; }
  HeadRows from(std::int64_t position) const { return {row(position), stride, head_dim}; }
};

template <typename T>
HeadRows<T> rows_of_head(const AttentionShape& a, Matrix<T> m, std::int64_t sequence, std::int64_t head) {
  return {m.row(sequence) + head * a.head_dim, a.batch * m.stride, a.head_dim};
}

// to[rows x stride], the rows up to the next whole group filled with 0.
template <typename T, typename W = Wide<T>>
void gather_rows(HeadRows<const T> from, std::int64_t rows, W factor, W* to, std::int64_t stride) {
  for (std::int64_t r = 0; r < rows; ++r)
    for_lanes<T>(from.head_dim, [&](std::int64_t i, auto extent) {
      store(to + r * stride + i, load(from.row(r) + i, extent) * factor, extent);
    });
  std::fill(to + rows * stride, to + round_up(rows, kGroup) * stride, W{0});
}

// Panels over the head's columns: right factors with as many rows as positions. A panel is panel_rows long.
template <typename T, typename W = Wide<T>>
void gather_panels(HeadRows<const T> from, std::int64_t rows, W factor, W* to, std::int64_t panel_rows) {
  constexpr std::int64_t kLanes = lane_count<W>;
  for (std::int64_t column = 0; column < round_up(from.head_dim, kPanel<W>); column += kLanes) {
    W* panel = to + column / kPanel<W> * panel_rows * kPanel<W> + column % kPanel<W>;
    const std::int64_t left = from.head_dim - column;
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* row = from.row(r) + column;
      const Lanes<W> lanes = left >= kLanes ? load(row) : left > 0 ? load_part(row, left) : Lanes<W>{};
      store(panel + r * kPanel<W>, lanes * factor);
    }
  }
}

// Panels over positions: the right factor has a row for each of the head's columns. Behind the last position
// it is repeated, up to the next whole panel.
template <typename T, typename W = Wide<T>>
void gather_transposed_panels(HeadRows<const T> from, std::int64_t rows, W* to) {
  constexpr std::int64_t kLanes = lane_count<W>;
  for (std::int64_t first = 0; first < round_up(rows, kPanel<W>); first += kLanes) {
    W* panel = to + first / kPanel<W> * kPanel<W> * from.head_dim + first % kPanel<W>;
    for_lanes<T>(from.head_dim, [&](std::int64_t column, auto extent) {
      Lanes<W> square[kLanes];
      for (std::int64_t r = 0; r < kLanes; ++r)
        square[r] = load(from.row(std::min(first + r, rows - 1)) + column, extent);
      transpose(square);
      const std::int64_t columns =
          std::is_same_v<decltype(extent), WholeLanes> ? kLanes : from.head_dim - column;
      for (std::int64_t i = 0; i < columns; ++i) store(panel + (column + i) * kPanel<W>, square[i]);
    });
  }
}

// `factor` times as many columns as the head has, written or added, rounded once.
template <typename T, typename W = Wide<T>>
void put_rows(HeadRows<T> to, std::int64_t rows, W factor, const W* from, std::int64_t stride, bool adds) {
  for (std::int64_t r = 0; r < rows; ++r)
    for_lanes<T>(to.head_dim, [&](std::int64_t i, auto extent) {
      put(to.row(r) + i, load(from + r * stride + i, extent) * factor, adds, extent);
    });
}

}  // namespace orrery::kernels
