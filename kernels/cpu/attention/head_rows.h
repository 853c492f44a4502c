// One head of one sequence, gathered from rows that lie `batch` rows apart into the tiles that tile_product.h
// multiplies, and written back. Elements are widened and scaled on the way in, scaled and rounded on the way
// out.
#pragma once

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/cpu/attention/tile_product.h"
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
  for (std::int64_t r = 0; r < rows; ++r) {
    widen_row(from.row(r), to + r * stride, from.head_dim);
    for (std::int64_t i = 0; i < from.head_dim; ++i) to[r * stride + i] *= factor;
  }
  std::fill(to + rows * stride, to + round_up(rows, kGroup) * stride, W{0});
}

// Panels over the head's columns: right factors with as many rows as positions. A panel is panel_rows long.
template <typename T, typename W = Wide<T>>
void gather_panels(HeadRows<const T> from, std::int64_t rows, W factor, W* to, std::int64_t panel_rows) {
  constexpr std::int64_t kLanes = lane_count<W>;
  const Lanes<W> scale = all_lanes(factor);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < round_up(from.head_dim, kPanel<W>); c += kLanes) {
      W* lanes = to + c / kPanel<W> * panel_rows * kPanel<W> + r * kPanel<W> + c % kPanel<W>;
      const std::int64_t left = from.head_dim - c;
      store(lanes, scale * (left >= kLanes ? load(from.row(r) + c)
                                           : load_part(from.row(r) + c, std::max<std::int64_t>(left, 0))));
    }
}

// Panels over positions: the right factor has a row for each of the head's columns.
template <typename T, typename W = Wide<T>>
void gather_transposed_panels(HeadRows<const T> from, std::int64_t rows, W* to) {
  for (std::int64_t first = 0; first < rows; first += kPanel<W>) {
    W* panel = to + first * from.head_dim;
    const std::int64_t count = std::min(rows - first, kPanel<W>);
    if (count < kPanel<W>) std::fill(panel, panel + from.head_dim * kPanel<W>, W{0});
    for (std::int64_t r = 0; r < count; ++r) {
      const T* row = from.row(first + r);
      for (std::int64_t i = 0; i < from.head_dim; ++i) panel[i * kPanel<W> + r] = widen(row[i]);
    }
  }
}

// Results, written or added, rounded once.
template <typename T>
void put_row(const Wide<T>* row, T* to, std::int64_t count, bool adds) {
  if (adds) {
    add_row(row, to, count);
  } else {
    narrow_row(row, to, count);
  }
}
// As many columns as the head has, times `factor`.
template <typename T>
void put_rows(HeadRows<T> to, std::int64_t rows, Wide<T> factor, Wide<T>* from, std::int64_t stride,
              bool adds) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < to.head_dim; ++i) from[r * stride + i] *= factor;
    put_row(from + r * stride, to.row(r), to.head_dim, adds);
  }
}

}  // namespace orrery::kernels
