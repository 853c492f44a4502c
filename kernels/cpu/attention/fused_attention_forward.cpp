// A tile of queries runs over the keys it sees. Its sums of p v and of p are relative to the running maximum,
// and shrink whenever that grows; the division by the sum comes last.
#include <cmath>

#include "kernels/cpu/attention/dropped_row.h"
#include "kernels/cpu/attention/fused_attention.h"
#include "kernels/cpu/attention/head_rows.h"
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
  std::int64_t columns;
  W *key_panels, *value_panels;  // of the whole sequence
  W *query, *scores, *sums;      // of a tile of queries
  W running_maximum[kQueryTile], running_sum[kQueryTile];
};

template <typename T, typename W = Wide<T>>
Forward<T> start_forward(const AttentionShape& a, const AttentionInput<T>& in,
                         const AttentionDropout& dropout, Out<T> o, Out<W> lse) {
  const std::int64_t columns = round_up(a.head_dim, kPanel<W>);
  const auto tiles = cut_tiles<W>({round_up(a.sequence, kPanel<W>) * a.head_dim, a.sequence * columns,
                                   kQueryTile * a.head_dim, kQueryTile * kKeyTile, kQueryTile * columns});
  return {a, in, dropout, o, lse, columns, tiles[0], tiles[1], tiles[2], tiles[3], tiles[4], {}, {}};
}

struct TileOf {
  std::int64_t j, head, first_query;  // sequence of the microbatch, head of the rank
};

// Turns a tile of scores into probabilities relative to the running maximum.
template <typename T, typename W = Wide<T>>
void softmax_tile(Forward<T>& f, const TileOf& tile, const Band& band, std::int64_t first_key) {
  const W slope = f.a.alibi ? static_cast<W>(f.a.alibi_slope(tile.head)) : W{0};
  for (std::int64_t r = 0; r < band.queries; ++r) {
    W* row = f.scores + r * kKeyTile;
    const std::int64_t keys = band.visible(r), vectors = round_up(keys, lane_count<W>),
                       query = tile.first_query + r;
    if (f.a.alibi) add_alibi(row, keys, slope, first_key - query);
    pad_with_minus_infinity(row, keys);
    const W here = row_maximum(row, keys);
    if (first_key == 0) {
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
void forward_tile(Forward<T>& f, const TileOf& tile) {
  const AttentionShape& a = f.a;
  const std::int64_t queries = std::min(a.sequence - tile.first_query, kQueryTile),
                     last = tile.first_query + queries - 1;
  gather_rows(rows_of_head(a, f.in.q, tile.j, tile.head).from(tile.first_query), queries,
              static_cast<W>(a.scale()), f.query, a.head_dim);
  for (std::int64_t key = 0; key < a.visible_keys(last); key += kKeyTile) {
    const Band band{queries, std::min(a.sequence - key, kKeyTile), tile.first_query - key, a.causal};
    product_of_scores<W>(band, a.head_dim, {f.query, a.head_dim}, f.key_panels + key * a.head_dim, f.scores);
    softmax_tile(f, tile, band, key);
    product_by_query<W>(band, key > 0, f.scores, {f.value_panels + key * kPanel<W>, a.sequence},
                        {f.sums, f.columns});
  }
  const HeadRows<T> o = rows_of_head(a, f.o.view, tile.j, tile.head).from(tile.first_query);
  for (std::int64_t r = 0; r < queries; ++r) {
    put_rows(o.from(r), 1, static_cast<W>(f.dropout.scale()) / f.running_sum[r], f.sums + r * f.columns,
             f.columns, f.o.adds);
    if (!f.lse.exists()) continue;
    W& lse = f.lse.view.at(tile.j * a.heads + tile.head, tile.first_query + r);
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
      if (head % a.group() == 0) {
        gather_transposed_panels(rows_of_head(a, in.k, j, head / a.group()), a.sequence, f.key_panels);
        gather_panels(rows_of_head(a, in.v, j, head / a.group()), a.sequence, W{1}, f.value_panels,
                      a.sequence);
      }
      for (std::int64_t first = 0; first < a.sequence; first += kQueryTile) forward_tile(f, {j, head, first});
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
