#include "kernels/cpu/attention/merge.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/attention/head_rows.h"

namespace orrery::kernels {

template <typename T>
void attention_merge(const AttentionShape& a, In<T> part, In<Wide<T>> part_lse, Matrix<Wide<T>> o,
                     Matrix<Wide<T>> lse) {
  using W = Wide<T>;
  for (std::int64_t j = 0; j < a.batch; ++j)
    for (std::int64_t head = 0; head < a.heads; ++head) {
      const HeadRows<const T> from = rows_of_head(a, part, j, head);
      const HeadRows<W> to = rows_of_head(a, o, j, head);
      const W* const added = part_lse.row(j * a.heads + head);
      W* const total = lse.row(j * a.heads + head);
      for (std::int64_t query = 0; query < a.sequence; ++query) {
        if (std::isinf(added[query]) && added[query] < 0) continue;
        const W largest = std::max(added[query], total[query]);
        const W here = std::exp(added[query] - largest), before = std::exp(total[query] - largest);
        const W sum = here + before;
        const W new_share = here / sum, old_share = before / sum;
        for_lanes<T>(a.head_dim, [&](std::int64_t i, auto extent) {
          const Lanes<W> old = load(to.row(query) + i, extent), part_of_head = load(from.row(query) + i, extent);
          store(to.row(query) + i, old * old_share + part_of_head * new_share, extent);
        });
        total[query] = largest + std::log(sum);
      }
    }
}

template void attention_merge<float>(const AttentionShape&, In<float>, In<float>, Matrix<float>, Matrix<float>);
template void attention_merge<double>(const AttentionShape&, In<double>, In<double>, Matrix<double>, Matrix<double>);
template void attention_merge<bf16>(const AttentionShape&, In<bf16>, In<float>, Matrix<float>, Matrix<float>);
template void attention_merge<fp16>(const AttentionShape&, In<fp16>, In<float>, Matrix<float>, Matrix<float>);

}  // namespace orrery::kernels
