// A row is widened into working memory, turned there and rounded into place: it stays in the first cache
// between the passes.
#include "kernels/cpu/attention/softmax.h"

#include "kernels/cpu/attention/head_rows.h"
#include "kernels/cpu/attention/softmax_rows.h"
#include "kernels/lane_loop.h"

namespace orrery::kernels {
namespace {

// Calls visit(row, head, query) for each row of scores.
template <typename Visit>
void for_each_row(const AttentionShape& a, Visit&& visit) {
  for (std::int64_t j = 0; j < a.batch; ++j)
    for (std::int64_t head = 0; head < a.heads; ++head)
      for (std::int64_t query = 0; query < a.sequence; ++query)
        visit(a.score_row(j, head, query), head, query);
}

// Where rows are read in part (causal), the hardware's guess of what comes next is wrong; it is told during
// the row before. Rows read in full follow each other, and need no help.
template <typename T>
void prefetch_row(const AttentionShape& a, Matrix<T> m, std::int64_t r, std::int64_t count) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  if (!a.causal || r >= a.batch * a.heads * a.sequence) return;
  for (std::int64_t i = 0; i < count; i += kLine) __builtin_prefetch(m.row(r) + i);
}

template <typename T>
void put_masked(T* to, std::int64_t count, bool adds) {
  if (!adds) std::fill(to, to + count, T{});
}

}  // namespace

template <typename T>
void softmax_forward(const AttentionShape& a, In<T> x, Out<T> y) {
  using W = Wide<T>;
  W* const row = cut_tiles<W>({round_up(a.sequence, lane_count<W>)})[0];
  for_each_row(a, [&](std::int64_t r, std::int64_t head, std::int64_t query) {
    const std::int64_t keys = a.visible_keys(query);
    widen_row(x.row(r), row, keys);
    if (a.alibi) add_alibi(row, keys, static_cast<W>(a.alibi_slope(head)), -query);
    pad_with_minus_infinity(row, keys);
    prefetch_row(a, y.view, r, a.sequence);
    prefetch_row(a, x, r + 1, keys);
    const W inverse = 1 / exponentiate_row(row, row, keys, row_maximum(row, keys));
    T* to = y.view.row(r);
    for_lanes<T>(keys,
                 [&](std::int64_t i, auto extent) { put(to + i, load(row + i) * inverse, y.adds, extent); });
    put_masked(to + keys, a.sequence - keys, y.adds);
  });
}

template <typename T>
void softmax_backward(const AttentionShape& a, In<T> y, In<T> dy, Out<T> dx) {
  using W = Wide<T>;
  for_each_row(a, [&](std::int64_t r, std::int64_t, std::int64_t query) {
    const std::int64_t keys = a.visible_keys(query);
    const T *p = y.row(r), *dp = dy.row(r);
    T* ds = dx.view.row(r);
    prefetch_row(a, dx.view, r, a.sequence);
    prefetch_row(a, y, r + 1, keys);
    prefetch_row(a, dy, r + 1, keys);
    Lanes<W> products = {};
    for_lanes<T>(
        keys, [&](std::int64_t i, auto extent) { products += load(p + i, extent) * load(dp + i, extent); });
    const W inner = sum(products);
    for_lanes<T>(keys, [&](std::int64_t i, auto extent) {
      put(ds + i, load(p + i, extent) * (load(dp + i, extent) - inner), dx.adds, extent);
    });
    put_masked(ds + keys, a.sequence - keys, dx.adds);
  });
}

template void softmax_forward<float>(const AttentionShape&, In<float>, Out<float>);
template void softmax_forward<double>(const AttentionShape&, In<double>, Out<double>);
template void softmax_forward<bf16>(const AttentionShape&, In<bf16>, Out<bf16>);
template void softmax_forward<fp16>(const AttentionShape&, In<fp16>, Out<fp16>);
template void softmax_backward<float>(const AttentionShape&, In<float>, In<float>, Out<float>);
template void softmax_backward<double>(const AttentionShape&, In<double>, In<double>, Out<double>);
template void softmax_backward<bf16>(const AttentionShape&, In<bf16>, In<bf16>, Out<bf16>);
template void softmax_backward<fp16>(const AttentionShape&, In<fp16>, In<fp16>, Out<fp16>);

}  // namespace orrery::kernels
