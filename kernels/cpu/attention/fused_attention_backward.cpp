// Key head by key head: for each of its query heads, a tile of queries runs over the keys it sees, completing
// dq of the tile and adding to dk and dv of the whole sequence, which are written when the last query head
// has added its part.
#include "kernels/cpu/attention/dropped_row.h"
#include "kernels/cpu/attention/fused_attention.h"
#include "kernels/cpu/attention/head_rows.h"
#include "kernels/cpu/attention/key_runs.h"
#include "kernels/cpu/attention/softmax_rows.h"

namespace orrery::kernels {
namespace {

template <typename T, typename W = Wide<T>>
struct Backward {
  const AttentionShape& a;
  const AttentionInput<T>& in;
  const AttentionSaved<T>& saved;
  const AttentionDropout& dropout;
  const AttentionGradients<T>& out;
  std::int64_t columns, slots;
  // Of all keys, in slots: kᵀ and vᵀ for the scores and their gradients, k for dq; sums.
  W *keys_transposed, *values_transposed, *key_panels, *dk, *dv;
  // Of a tile of queries.
  W *query, *query_panels, *dout, *dout_panels, *dq, *probabilities, *dscores;
};

template <typename T>
Backward<T> start_backward(const AttentionShape& a, const AttentionInput<T>& in,
                           const AttentionSaved<T>& saved, const AttentionDropout& dropout,
                           const AttentionGradients<T>& out) {
  using W = Wide<T>;
  const std::int64_t columns = round_up(a.head_dim, kPanel<W>), slots = key_slots(a);
  const std::int64_t transposed = round_up(slots, kPanel<W>) * a.head_dim;
  const std::int64_t sums = round_up(slots, kGroup) * columns;
  const std::int64_t rows = kQueryTile * a.head_dim, panels = kQueryTile * columns,
                     scores = kQueryTile * kKeyTile;
  const auto t = cut_tiles<W>({transposed, transposed, slots * columns, sums, sums, rows, panels, rows,
                               panels, panels, scores, scores});
  return {a,    in,   saved, dropout, out,  columns, slots, t[0],  t[1], t[2],
          t[3], t[4], t[5],  t[6],    t[7], t[8],    t[9],  t[10], t[11]};
}

// dout . o of each query: sum over keys of dP P, also under dropout, since o was made of the dropped
// probabilities.
template <typename T, typename W = Wide<T>>
void dot_rows(const Backward<T>& b, const QueryTile& tile, W* dots) {
  const HeadRows<const T> o = rows_of_head(b.a, b.saved.o, tile.j, tile.head).from(tile.row);
  for (std::int64_t r = 0; r < tile.queries; ++r) {
    const W* dout = b.dout + r * b.a.head_dim;
    W dot = 0;
    for (std::int64_t i = 0; i < b.a.head_dim; ++i) dot += dout[i] * widen(o.row(r)[i]);
    dots[r] = dot;
  }
}

// From scores and dP: the probabilities (dropped) and the gradients of the scores. `first_key`: a position.
template <typename T, typename W = Wide<T>>
void differentiate_tile(const Backward<T>& b, const QueryTile& tile, const Band& band, std::int64_t first_key,
                        const W* dots) {
  const W slope = b.a.alibi ? static_cast<W>(b.a.alibi_slope(tile.head)) : W{0};
  const W kept_scale = static_cast<W>(b.dropout.scale());
  const W* lse = b.saved.lse.row(tile.j * b.a.heads + tile.head) + tile.row;
  for (std::int64_t r = 0; r < band.queries; ++r) {
    W *row = b.probabilities + r * kKeyTile, *drow = b.dscores + r * kKeyTile;
    const std::int64_t keys = band.visible(r), vectors = round_up(keys, lane_count<W>),
                       query = tile.position + r;
    if (b.a.alibi) add_alibi(row, keys, slope, first_key - query);
    pad_with_minus_infinity(row, keys);
    exponentiate_row(row, row, keys, lse[r]);
    const auto multiply = [&] {
      for (std::int64_t i = 0; i < vectors; i += lane_count<W>)
        store(drow + i, load(row + i) * (load(drow + i) * kept_scale - dots[r]));
    };
    if (b.dropout.drops()) {
      const DroppedRow dropped(b.dropout, b.a, {tile.j, tile.head, query, first_key}, keys);
      dropped.apply(drow);
      multiply();
      dropped.apply(row);
    } else {
      multiply();
    }
    for (W* masked : {row, drow})
      std::fill(masked + vectors, masked + std::max(vectors, band.visible_to_group(r)), W{0});
  }
}

template <typename T, typename W = Wide<T>>
void backward_tile(const Backward<T>& b, const QueryTile& tile) {
  const AttentionShape& a = b.a;
  const std::int64_t queries = tile.queries;
  const auto q = rows_of_head(a, b.in.q, tile.j, tile.head).from(tile.row);
  const auto dout = rows_of_head(a, b.saved.dout, tile.j, tile.head).from(tile.row);
  const W scale = static_cast<W>(a.scale());
  gather_rows(q, queries, scale, b.query, a.head_dim);
  gather_rows(dout, queries, W{1}, b.dout, a.head_dim);
  gather_panels(q, queries, scale, b.query_panels, kQueryTile);
  gather_panels(dout, queries, W{1}, b.dout_panels, kQueryTile);
  W dots[kQueryTile];
  dot_rows(b, tile, dots);
  bool begun = false;
  const auto begin_without_keys = [&] {
    std::fill(b.dq, b.dq + round_up(queries, kGroup) * b.columns, W{0});
    begun = true;
  };
  for_each_key_tile(a, tile, [&](const Band& band, std::int64_t slot, std::int64_t first_key) {
    if (!begun && band.first_query(0) > 0) begin_without_keys();
    product_of_scores<W>(band, a.head_dim, {b.query, a.head_dim}, b.keys_transposed + slot * a.head_dim,
                         b.probabilities);
    product_of_scores<W>(band, a.head_dim, {b.dout, a.head_dim}, b.values_transposed + slot * a.head_dim,
                         b.dscores);
    differentiate_tile(b, tile, band, first_key, dots);
    product_by_key<W>(band, b.probabilities, {b.dout_panels, kQueryTile},
                      {b.dv + slot * b.columns, b.columns});
    product_by_key<W>(band, b.dscores, {b.query_panels, kQueryTile}, {b.dk + slot * b.columns, b.columns});
    product_by_query<W>(band, begun, b.dscores, {b.key_panels + slot * kPanel<W>, b.slots},
                        {b.dq, b.columns});
    begun = true;
  });
  if (!begun) begin_without_keys();
  const auto dq = rows_of_head(a, b.out.dq.view, tile.j, tile.head).from(tile.row);
  put_rows(dq, queries, scale, b.dq, b.columns, b.out.dq.adds);
}

template <typename T, typename W = Wide<T>>
void backward_key_head(const Backward<T>& b, std::int64_t j, std::int64_t key_head) {
  const AttentionShape& a = b.a;
  const HeadRows<const T> k = rows_of_head(a, b.in.k, j, key_head), v = rows_of_head(a, b.in.v, j, key_head);
  for_each_key_run(a, [&](const KeyRun& run) {
    gather_transposed_panels(k.from(run.row), run.count, b.keys_transposed + run.slot * a.head_dim);
    gather_transposed_panels(v.from(run.row), run.count, b.values_transposed + run.slot * a.head_dim);
    gather_panels(k.from(run.row), run.count, W{1}, b.key_panels + run.slot * kPanel<W>, b.slots);
  });
  for (W* sums : {b.dk, b.dv}) std::fill(sums, sums + round_up(b.slots, kGroup) * b.columns, W{0});
  for (std::int64_t head = key_head * a.group(); head < (key_head + 1) * a.group(); ++head)
    for_each_query_tile(a, j, head, [&](const QueryTile& tile) { backward_tile(b, tile); });
  for_each_key_run(a, [&](const KeyRun& run) {
    put_rows(rows_of_head(a, b.out.dk.view, j, key_head).from(run.row), run.count, W{1}, b.dk + run.slot * b.columns,
             b.columns, b.out.dk.adds);
    put_rows(rows_of_head(a, b.out.dv.view, j, key_head).from(run.row), run.count,
             static_cast<W>(b.dropout.scale()), b.dv + run.slot * b.columns, b.columns, b.out.dv.adds);
  });
}

}  // namespace

template <typename T>
void attention_backward(const AttentionShape& a, const AttentionInput<T>& in, const AttentionSaved<T>& saved,
                        const AttentionDropout& dropout, const AttentionGradients<T>& out) {
  const Backward<T> b = start_backward(a, in, saved, dropout, out);
  for (std::int64_t j = 0; j < a.batch; ++j)
    for (std::int64_t key_head = 0; key_head < a.kv_heads; ++key_head) backward_key_head(b, j, key_head);
}

template void attention_backward(const AttentionShape&, const AttentionInput<float>&,
                                 const AttentionSaved<float>&, const AttentionDropout&,
                                 const AttentionGradients<float>&);
template void attention_backward(const AttentionShape&, const AttentionInput<double>&,
                                 const AttentionSaved<double>&, const AttentionDropout&,
                                 const AttentionGradients<double>&);
template void attention_backward(const AttentionShape&, const AttentionInput<bf16>&,
                                 const AttentionSaved<bf16>&, const AttentionDropout&,
                                 const AttentionGradients<bf16>&);
template void attention_backward(const AttentionShape&, const AttentionInput<fp16>&,
                                 const AttentionSaved<fp16>&, const AttentionDropout&,
                                 const AttentionGradients<fp16>&);

}  // namespace orrery::kernels
