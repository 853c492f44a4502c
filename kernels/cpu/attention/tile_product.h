// Products of small matrices in packed form, the inner loops of attention. The left factor is row-major (or
// read transposed); the right one lies in panels: of `depth` rows, one panel for each 2 lanes' worth of
// columns, so that the innermost loop reads it in order. One step multiplies kGroup rows with one panel:
// kGroup * 2 vectors of sums, 2 of the panel and one number of the left factor in every lane fill the 16
// registers of AVX2, and two multiply-adds a cycle need three loads for every four (Goto, van de Geijn:
// "Anatomy of high-performance matrix multiplication", 2008). Each sum runs over the depth in order, so a
// result depends neither on where its tile begins nor on what is beside it.
//
// A causal tile is a band: query q of the tile sees its keys up to q + offset. Whole steps without a visible
// key are left out, and what is masked inside of a step must be 0 in the tile of probabilities.
#pragma once

#include <algorithm>

#include "kernels/convert.h"
#include "kernels/cpu/attention/tiles.h"

namespace orrery::kernels {

inline constexpr std::int64_t kGroup = 6;  // rows of one step
template <typename W>
inline constexpr std::int64_t kPanel = 2 * lane_count<W>;  // columns of one step

// Queries and keys of a tile of scores: multiples of kGroup and of every kPanel. A tile of floats is 18 KB.
inline constexpr std::int64_t kQueryTile = 48, kKeyTile = 96;

// The queries [0, queries) and keys [0, keys) of a tile; `offset` is the first query's position less the
// first key's.
struct Band {
  std::int64_t queries = 0, keys = 0, offset = 0;
  bool causal = true;

  std::int64_t visible(std::int64_t query) const {
    return causal ? std::clamp<std::int64_t>(query + offset + 1, 0, keys) : keys;
  }
  // Of the group of rows that holds the query. A row of probabilities must be defined up to here, with 0
  // where masked: tiles are whole groups, so the last key group of which a step reads the row ends here, too.
  std::int64_t visible_to_group(std::int64_t query) const {
    return visible(std::min(query / kGroup * kGroup + kGroup, queries) - 1);
  }
  std::int64_t first_query(std::int64_t key) const {
    return causal ? std::clamp<std::int64_t>(key - offset, 0, queries) : 0;
  }
};

template <typename W>
struct Left {
  const W* data;
  std::int64_t stride;
};

// c[kGroup x kPanel] (+)= a[kGroup x depth] panel[depth x kPanel]; a transposed is stored [depth x kGroup].
template <bool kTransposed, bool kAdds, typename W>
ORRERY_ALWAYS_INLINE void step_product(Left<W> a, const W* panel, std::int64_t depth, W* c,
                                       std::int64_t c_stride) {
  using V = Lanes<W>;
  constexpr std::int64_t kLanes = lane_count<W>;
  V sums[kGroup][2];
#pragma GCC unroll 6
  for (std::int64_t i = 0; i < kGroup; ++i) {
    sums[i][0] = kAdds ? load(c + i * c_stride) : V{};
    sums[i][1] = kAdds ? load(c + i * c_stride + kLanes) : V{};
  }
  for (std::int64_t p = 0; p < depth; ++p) {
    const V first = load(panel + p * 2 * kLanes), second = load(panel + p * 2 * kLanes + kLanes);
#pragma GCC unroll 6
    for (std::int64_t i = 0; i < kGroup; ++i) {
      const V x = all_lanes(kTransposed ? a.data[p * a.stride + i] : a.data[i * a.stride + p]);
      sums[i][0] += x * first;
      sums[i][1] += x * second;
    }
  }
#pragma GCC unroll 6
  for (std::int64_t i = 0; i < kGroup; ++i) {
    store(c + i * c_stride, sums[i][0]);
    store(c + i * c_stride + kLanes, sums[i][1]);
  }
}

// scores[queries x keys] = q[queries x depth] kᵀ, with kᵀ in panels of kPanel keys. scores has the stride
// kKeyTile.
template <typename W>
[[gnu::noinline]] void product_of_scores(const Band& band, std::int64_t depth, Left<W> q, const W* key_panels,
                                         W* scores) {
  for (std::int64_t key = 0; key < band.visible(band.queries - 1); key += kPanel<W>) {
    const W* panel = key_panels + key * depth;
    for (std::int64_t row = band.first_query(key) / kGroup * kGroup; row < band.queries; row += kGroup)
      step_product<false, false>({q.data + row * q.stride, q.stride}, panel, depth,
                                 scores + row * kKeyTile + key, kKeyTile);
  }
}

// A stretch of rows of a right factor. Each of its panels is panel_rows long; `data` is the stretch in the
// first one.
template <typename W>
struct Panels {
  const W* data;
  std::int64_t panel_rows;
  const W* at(std::int64_t row, std::int64_t column) const {
    return data + column * panel_rows + row * kPanel<W>;
  }
};
// Rows of whole panels' columns.
template <typename W>
struct Sums {
  W* data;
  std::int64_t columns;
  W* at(std::int64_t row, std::int64_t column) const { return data + row * columns + column; }
};

// sums[queries x columns] (+)= x[queries x keys] right[keys x columns]; x has the stride kKeyTile.
template <bool kAdds, typename W>
[[gnu::noinline]] void product_by_query(const Band& band, const W* x, Panels<W> right, Sums<W> sums) {
  for (std::int64_t column = 0; column < sums.columns; column += kPanel<W>)
    for (std::int64_t row = band.first_query(0) / kGroup * kGroup; row < band.queries; row += kGroup)
      step_product<false, kAdds>({x + row * kKeyTile, kKeyTile}, right.at(0, column),
                                 band.visible_to_group(row), sums.at(row, column), sums.columns);
}
// The first tile of keys, which every query sees, writes the sums; the others add to them.
template <typename W>
void product_by_query(const Band& band, bool adds, const W* x, Panels<W> right, Sums<W> sums) {
  if (adds) {
    product_by_query<true>(band, x, right, sums);
  } else {
    product_by_query<false>(band, x, right, sums);
  }
}

// sums[keys x columns] += x[queries x keys]ᵀ right[queries x columns]. sums has whole groups of rows; what x
// holds behind the last key only reaches rows behind the last key.
template <typename W>
[[gnu::noinline]] void product_by_key(const Band& band, const W* x, Panels<W> right, Sums<W> sums) {
  const std::int64_t keys = band.visible(band.queries - 1);
  for (std::int64_t column = 0; column < sums.columns; column += kPanel<W>)
    for (std::int64_t key = 0; key < keys; key += kGroup) {
      const std::int64_t first = band.first_query(key);
      step_product<true, true>({x + first * kKeyTile + key, kKeyTile}, right.at(first, column),
                               band.queries - first, sums.at(key, column), sums.columns);
    }
}

}  // namespace orrery::kernels
