// The tiles of the fused kernels over queries and keys at positions of their own (AttentionShape::query_runs, key_runs):
// no tile crosses from one run to the next, so that inside of one query less key is row less column. Gathered keys lie
// in slots; a run begins at a multiple of kKeyTile slots, since products read and write whole steps behind its end.
#pragma once

#include <algorithm>

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/cpu/attention/tile_product.h"

namespace orrery::kernels {

struct KeyRun {
  std::int64_t row, count, position, slot;
};

template <typename Visit>
void for_each_key_run(const AttentionShape& a, Visit&& visit) {
  std::int64_t slot = 0;
  for_each_run(a.key_runs, a.key_count(), [&](const PositionRun& run) {
    visit(KeyRun{run.row, run.count, run.position, slot});
    slot += round_up(run.count, kKeyTile);
  });
}

inline std::int64_t key_slots(const AttentionShape& a) {
  std::int64_t slots = 0;
  for_each_key_run(a, [&](const KeyRun& run) { slots = run.slot + run.count; });
  return slots;
}

struct QueryTile {
  std::int64_t j, head;  // sequence of the microbatch, head of the rank
  std::int64_t row, position, queries;
};

template <typename Visit>
void for_each_query_tile(const AttentionShape& a, std::int64_t j, std::int64_t head, Visit&& visit) {
  for_each_run(a.query_runs, a.sequence, [&](const PositionRun& run) {
    for (std::int64_t first = 0; first < run.count; first += kQueryTile)
      visit(QueryTile{j, head, run.row + first, run.position + first, std::min(run.count - first, kQueryTile)});
  });
}

// Calls visit(band, slot of the first key, its position) for the tiles of keys of which the queries see any.
template <typename Visit>
void for_each_key_tile(const AttentionShape& a, const QueryTile& tile, Visit&& visit) {
  for_each_key_run(a, [&](const KeyRun& run) {
    for (std::int64_t key = 0; key < run.count; key += kKeyTile) {
      const Band band{tile.queries, std::min(run.count - key, kKeyTile), tile.position - run.position - key,
                      a.causal};
      if (band.visible(tile.queries - 1) == 0) return;  // nor of the keys behind it
      visit(band, run.slot + key, run.position + key);
    }
  });
}

}  // namespace orrery::kernels
