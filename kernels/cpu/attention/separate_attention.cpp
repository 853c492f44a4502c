// Three products serve six kernels: rows of scores of two heads, results by query, results by key.
#include "kernels/cpu/attention/separate_attention.h"

#include "kernels/cpu/attention/head_rows.h"

namespace orrery::kernels {
namespace {

// A matrix of scores: one sequence, one query head.
template <typename T>
struct Square {
  Matrix<T> all;
  std::int64_t first_row;
  T* at(std::int64_t query, std::int64_t key) const { return all.row(first_row + query) + key; }
};

// The tiles of a square, all of it: no query is without keys.
template <typename Visit>
void for_each_tile(std::int64_t sequence, std::int64_t first_query, Visit&& visit) {
  for (std::int64_t key = 0; key < sequence; key += kKeyTile)
    visit(Band{std::min(sequence - first_query, kQueryTile), std::min(sequence - key, kKeyTile), 0, false},
          key);
}

template <typename T, typename W = Wide<T>>
void gather_tile(Square<const T> x, const Band& band, std::int64_t query, std::int64_t key, W* to) {
  for (std::int64_t r = 0; r < band.queries; ++r)
    widen_row(x.at(query + r, key), to + r * kKeyTile, band.keys);
}

template <typename T>
void put_keys(const Wide<T>* from, T* to, std::int64_t keys, bool adds) {
  for_lanes<T>(keys, [&](std::int64_t i, auto extent) { put(to + i, load(from + i, extent), adds, extent); });
}

// y = factor * left rightᵀ
template <typename T, typename W = Wide<T>>
void product_to_scores(const AttentionShape& a, In<T> left, In<T> right, double factor, Out<T> y) {
  const auto tiles = cut_tiles<W>(
      {round_up(a.sequence, kPanel<W>) * a.head_dim, kQueryTile * a.head_dim, kQueryTile * kKeyTile});
  W *const transposed = tiles[0], *const rows = tiles[1], *const scores = tiles[2];
  for (std::int64_t j = 0; j < a.batch; ++j)
    for (std::int64_t head = 0; head < a.heads; ++head) {
      if (head % a.group() == 0)
        gather_transposed_panels(rows_of_head(a, right, j, head / a.group()), a.sequence, transposed);
      const Square<T> square{y.view, a.score_row(j, head, 0)};
      for (std::int64_t query = 0; query < a.sequence; query += kQueryTile) {
        const std::int64_t queries = std::min(a.sequence - query, kQueryTile);
        gather_rows(rows_of_head(a, left, j, head).from(query), queries, static_cast<W>(factor), rows,
                    a.head_dim);
        for_each_tile(a.sequence, query, [&](const Band& band, std::int64_t key) {
          product_of_scores<W>(band, a.head_dim, {rows, a.head_dim}, transposed + key * a.head_dim, scores);
          for (std::int64_t r = 0; r < queries; ++r)
            put_keys(scores + r * kKeyTile, square.at(query + r, key), band.keys, y.adds);
        });
      }
    }
}

// y[queries] = factor * x right[keys]
template <typename T, typename W = Wide<T>>
void product_to_queries(const AttentionShape& a, In<T> x, In<T> right, double factor, Out<T> y) {
  const std::int64_t columns = round_up(a.head_dim, kPanel<W>);
  const auto tiles = cut_tiles<W>({a.sequence * columns, kQueryTile * kKeyTile, kQueryTile * columns});
  W *const panels = tiles[0], *const scores = tiles[1], *const sums = tiles[2];
  for (std::int64_t j = 0; j < a.batch; ++j)
    for (std::int64_t head = 0; head < a.heads; ++head) {
      if (head % a.group() == 0)
        gather_panels(rows_of_head(a, right, j, head / a.group()), a.sequence, W{1}, panels, a.sequence);
      const Square<const T> square{x, a.score_row(j, head, 0)};
      for (std::int64_t query = 0; query < a.sequence; query += kQueryTile) {
        for_each_tile(a.sequence, query, [&](const Band& band, std::int64_t key) {
          gather_tile(square, band, query, key, scores);
          product_by_query<W>(band, key > 0, scores, {panels + key * kPanel<W>, a.sequence}, {sums, columns});
        });
        put_rows(rows_of_head(a, y.view, j, head).from(query), std::min(a.sequence - query, kQueryTile),
                 static_cast<W>(factor), sums, columns, y.adds);
      }
    }
}

// y[keys] = factor * sum over the query heads of a key head of xᵀ left[queries]
template <typename T, typename W = Wide<T>>
void product_to_keys(const AttentionShape& a, In<T> x, In<T> left, double factor, Out<T> y) {
  const std::int64_t columns = round_up(a.head_dim, kPanel<W>),
                     all_sums = round_up(a.sequence, kGroup) * columns;
  const auto tiles = cut_tiles<W>({kQueryTile * columns, kQueryTile * kKeyTile, all_sums});
  W *const panels = tiles[0], *const scores = tiles[1], *const sums = tiles[2];
  for (std::int64_t j = 0; j < a.batch; ++j)
    for (std::int64_t key_head = 0; key_head < a.kv_heads; ++key_head) {
      std::fill(sums, sums + all_sums, W{0});
      for (std::int64_t head = key_head * a.group(); head < (key_head + 1) * a.group(); ++head) {
        const Square<const T> square{x, a.score_row(j, head, 0)};
        for (std::int64_t query = 0; query < a.sequence; query += kQueryTile) {
          gather_panels(rows_of_head(a, left, j, head).from(query), std::min(a.sequence - query, kQueryTile),
                        W{1}, panels, kQueryTile);
          for_each_tile(a.sequence, query, [&](const Band& band, std::int64_t key) {
            gather_tile(square, band, query, key, scores);
            product_by_key<W>(band, scores, {panels, kQueryTile}, {sums + key * columns, columns});
          });
        }
      }
      put_rows(rows_of_head(a, y.view, j, key_head), a.sequence, static_cast<W>(factor), sums, columns,
               y.adds);
    }
}

}  // namespace

template <typename T>
void attention_scores(const AttentionShape& a, In<T> q, In<T> k, Out<T> y) {
  product_to_scores(a, q, k, a.scale(), y);
}
template <typename T>
void attention_context(const AttentionShape& a, In<T> x, In<T> v, Out<T> o) {
  product_to_queries(a, x, v, 1.0, o);
}
template <typename T>
void attention_dprobabilities(const AttentionShape& a, In<T> dout, In<T> v, Out<T> dx) {
  product_to_scores(a, dout, v, 1.0, dx);
}
template <typename T>
void attention_dvalue(const AttentionShape& a, In<T> x, In<T> dout, Out<T> dv) {
  product_to_keys(a, x, dout, 1.0, dv);
}
template <typename T>
void attention_dquery(const AttentionShape& a, In<T> x, In<T> k, Out<T> dq) {
  product_to_queries(a, x, k, a.scale(), dq);
}
template <typename T>
void attention_dkey(const AttentionShape& a, In<T> x, In<T> q, Out<T> dk) {
  product_to_keys(a, x, q, a.scale(), dk);
}

template void attention_scores<float>(const AttentionShape&, In<float>, In<float>, Out<float>);
template void attention_scores<double>(const AttentionShape&, In<double>, In<double>, Out<double>);
template void attention_scores<bf16>(const AttentionShape&, In<bf16>, In<bf16>, Out<bf16>);
template void attention_scores<fp16>(const AttentionShape&, In<fp16>, In<fp16>, Out<fp16>);
template void attention_context<float>(const AttentionShape&, In<float>, In<float>, Out<float>);
template void attention_context<double>(const AttentionShape&, In<double>, In<double>, Out<double>);
template void attention_context<bf16>(const AttentionShape&, In<bf16>, In<bf16>, Out<bf16>);
template void attention_context<fp16>(const AttentionShape&, In<fp16>, In<fp16>, Out<fp16>);
template void attention_dprobabilities<float>(const AttentionShape&, In<float>, In<float>, Out<float>);
template void attention_dprobabilities<double>(const AttentionShape&, In<double>, In<double>, Out<double>);
template void attention_dprobabilities<bf16>(const AttentionShape&, In<bf16>, In<bf16>, Out<bf16>);
template void attention_dprobabilities<fp16>(const AttentionShape&, In<fp16>, In<fp16>, Out<fp16>);
template void attention_dvalue<float>(const AttentionShape&, In<float>, In<float>, Out<float>);
template void attention_dvalue<double>(const AttentionShape&, In<double>, In<double>, Out<double>);
template void attention_dvalue<bf16>(const AttentionShape&, In<bf16>, In<bf16>, Out<bf16>);
template void attention_dvalue<fp16>(const AttentionShape&, In<fp16>, In<fp16>, Out<fp16>);
template void attention_dquery<float>(const AttentionShape&, In<float>, In<float>, Out<float>);
template void attention_dquery<double>(const AttentionShape&, In<double>, In<double>, Out<double>);
template void attention_dquery<bf16>(const AttentionShape&, In<bf16>, In<bf16>, Out<bf16>);
template void attention_dquery<fp16>(const AttentionShape&, In<fp16>, In<fp16>, Out<fp16>);
template void attention_dkey<float>(const AttentionShape&, In<float>, In<float>, Out<float>);
template void attention_dkey<double>(const AttentionShape&, In<double>, In<double>, Out<double>);
template void attention_dkey<bf16>(const AttentionShape&, In<bf16>, In<bf16>, Out<bf16>);
template void attention_dkey<fp16>(const AttentionShape&, In<fp16>, In<fp16>, Out<fp16>);

}  // namespace orrery::kernels
