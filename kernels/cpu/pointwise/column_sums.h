// Column sums that a pointwise kernel gathers on its way through the rows, for a bias gradient. They are kept
// in the wide type and written once; the bias may belong to the last columns only (the up half of a gated
// activation).
#pragma once

#include <cassert>
#include <vector>

#include "kernels/lane_loop.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

template <typename T, typename G>
class ColumnSums {
 public:
  ColumnSums(Out<G> dbias, std::int64_t columns)
      : dbias_(dbias), sums_(dbias.exists() ? static_cast<std::size_t>(columns) : 0) {
    assert(!dbias.exists() || (dbias.view.contiguous() && dbias.view.count() <= columns));
  }

  template <typename Extent>
  ORRERY_ALWAYS_INLINE void add(std::int64_t column, Lanes<T> v, Extent extent) {
    if (!sums_.empty()) put(sums_.data() + column, v, true, extent);
  }

  ORRERY_ALWAYS_INLINE void write() const {
    if (sums_.empty()) return;
    const std::int64_t count = dbias_.view.count();
    const Wide<T>* const from = sums_.data() + (static_cast<std::int64_t>(sums_.size()) - count);
    if (dbias_.adds)
      add_row(from, dbias_.view.data, count);
    else
      narrow_row(from, dbias_.view.data, count);
  }

 private:
  Out<G> dbias_;
  std::vector<Wide<T>> sums_;
};

}  // namespace orrery::kernels
