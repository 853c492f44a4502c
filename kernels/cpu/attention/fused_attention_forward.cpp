// A tile of queries runs over the keys it sees. Its sums of p v and of p are relative to the running maximum,
// and shrink whenever that grows; the division by the sum comes last.
#include <cmath>
#include <limits>

#include "kernels/cpu/attention/dropped_row.h"
#include "kernels/cpu/attention/fused_attention.h"
#include "kernels/cpu/attention/head_rows.h"
#include "kernels/cpu/attention/key_runs.h"
#include "kernels/cpu/attention/softmax_rows.h"

namespace orrery::kernels {
namespace {

template <typename T, typename W = Wide<T>>
struct Forward {
  const AttentionShape& a;
  const AttentionInput<T>& in;
  const AttentionDropout& dropout;
  Out<T> o;
  Out<W> lse;
  std::int64_t columns, slots;
  W *key_panels, *value_panels;  // of all keys, in slots (key_runs.h)
  W *query, *scores, *sums;      // of a tile of queries
  W running_maximum[kQueryTile], running_sum[kQueryTile];
};

template <typename T, typename W = Wide<T>>
Forward<T> start_forward(const AttentionShape& a, const AttentionInput<T>& in,
                         const AttentionDropout& dropout, Out<T> o, Out<W> lse) {
  const std::int64_t columns = round_up(a.head_dim, kPanel<W>), slots = key_slots(a);
  const auto tiles = cut_tiles<W>({round_up(slots, kPanel<W>) * a.head_dim, slots * columns,
                                   kQueryTile * a.head_dim, kQueryTile * kKeyTile, kQueryTile * columns});
  return {a, in, dropout, o, lse, columns, slots, tiles[0], tiles[1], tiles[2], tiles[3], tiles[4], {}, {}};
}

// What queries have that have seen no key.
template <typename T, typename W = Wide<T>>
void begin_without_keys(Forward<T>& f, std::int64_t queries) {
  std::fill(f.sums, f.sums + round_up(queries, kGroup) * f.columns, W{0});
  std::fill(f.running_maximum, f.running_maximum + queries, -std::numeric_limits<W>::infinity());
  std::fill(f.running_sum, f.running_sum + queries, W{0});
}

// Turns a tile of scores into probabilities relative to the running maximum. `first_key`: a position; `begun`: an
// earlier tile has made sums.
template <typename T, typename W = Wide<T>>
void softmax_tile(Forward<T>& f, const QueryTile& tile, const Band& band, std::int64_t first_key, bool begun) {
  const W slope = f.a.alibi ? static_cast<W>(f.a.alibi_slope(tile.head)) : W{0};
  for (std::int64_t r = 0; r < band.queries; ++r) {
    W* row = f.scores + r * kKeyTile;
    const std::int64_t keys = band.visible(r), vectors = round_up(keys, lane_count<W>),
                       query = tile.position + r;
    if (f.a.alibi) add_alibi(row, keys, slope, first_key - query);
    pad_with_minus_infinity(row, keys);
    const W here = row_maximum(row, keys);
    if (!begun) {
      f.running_maximum[r] = here;
      f.running_sum[r] = 0;
    } else if (here > f.running_maximum[r]) {
      const W shrink = std::exp(f.running_maximum[r] - here);
      scale_row(f.sums + r * f.columns, f.columns, shrink);
      f.running_sum[r] *= shrink;
      f.running_maximum[r] = here;
    }
    f.running_sum[r] += exponentiate_row(row, row, keys, f.running_maximum[r]);
    if (f.dropout.drops()) DroppedRow(f.dropout, f.a, {tile.j, tile.head, query, first_key}, keys).apply(row);
    std::fill(row + vectors, row + std::max(vectors, band.visible_to_group(r)), W{0});
  }
}

template <typename T, typename W = Wide<T>>
void forward_tile(Forward<T>& f, const QueryTile& tile) {
  const AttentionShape& a = f.a;
  gather_rows(rows_of_head(a, f.in.q, tile.j, tile.head).from(tile.row), tile.queries,
              static_cast<W>(a.scale()), f.query, a.head_dim);
  bool begun = false;
  for_each_key_tile(a, tile, [&](const Band& band, std::int64_t slot, std::int64_t first_key) {
    if (!begun && band.first_query(0) > 0) {
      begin_without_keys(f, tile.queries);
      begun = true;
    }
    product_of_scores<W>(band, a.head_dim, {f.query, a.head_dim}, f.key_panels + slot * a.head_dim, f.scores);
    softmax_tile(f, tile, band, first_key, begun);
    product_by_query<W>(band, begun, f.scores, {f.value_panels + slot * kPanel<W>, f.slots},
                        {f.sums, f.columns});
    begun = true;
  });
  if (!begun) begin_without_keys(f, tile.queries);
  const HeadRows<T> o = rows_of_head(a, f.o.view, tile.j, tile.head).from(tile.row);
  for (std::int64_t r = 0; r < tile.queries; ++r) {
    const W factor = f.running_sum[r] == 0 ? W{0} : static_cast<W>(f.dropout.scale()) / f.running_sum[r];
    put_rows(o.from(r), 1, factor, f.sums + r * f.columns, f.columns, f.o.adds);
    if (!f.lse.exists()) continue;
    W& lse = f.lse.view.at(tile.j * a.heads + tile.head, tile.row + r);
    lse = (f.lse.adds ? lse : W{0}) + (f.running_maximum[r] + std::log(f.running_sum[r]));
  }
}

}  // namespace

template <typename T>
void attention_forward(const AttentionShape& a, const AttentionInput<T>& in, const AttentionDropout& dropout,
                       Out<T> o, Out<Wide<T>> lse) {
  using W = Wide<T>;
  Forward<T> f = start_forward(a, in, dropout, o, lse);
  for (std::int64_t j = 0; j < a.batch; ++j)
    for (std::int64_t head = 0; head < a.heads; ++head) {
      if (head % a.group() == 0)
        for_each_key_run(a, [&](const KeyRun& run) {
          gather_transposed_panels(rows_of_head(a, in.k, j, head / a.group()).from(run.row), run.count,
                                   f.key_panels + run.slot * a.head_dim);
          gather_panels(rows_of_head(a, in.v, j, head / a.group()).from(run.row), run.count, W{1},
                        f.value_panels + run.slot * kPanel<W>, f.slots);
        });
      for_each_query_tile(a, j, head, [&](const QueryTile& tile) { forward_tile(f, tile); });
    }
}

template void attention_forward(const AttentionShape&, const AttentionInput<float>&, const AttentionDropout&,
                                Out<float>, Out<float>);
template void attention_forward(const AttentionShape&, const AttentionInput<double>&, const AttentionDropout&,
                                Out<double>, Out<double>);
template void attention_forward(const AttentionShape&, const AttentionInput<bf16>&, const AttentionDropout&,
                                Out<bf16>, Out<float>);
template void attention_forward(const AttentionShape&, const AttentionInput<fp16>&, const AttentionDropout&,
                                Out<fp16>, Out<float>);

}  // namespace orrery::kernels
