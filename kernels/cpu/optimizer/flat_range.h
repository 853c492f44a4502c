// Where a stretch of parameters lies in its unit's flat vector [replicated vectors | sharded vectors |
// sharded matrices | replicated matrices | padding], and what the unit says about positions there. Kernels of
// the optimizer see contiguous stretches: the whole vector, or the shard of one data-parallel rank.
#pragma once

#include <algorithm>
#include <cstdint>

namespace orrery::kernels {

struct FlatRange {
  std::int64_t first = 0;       // position of element 0
  std::int64_t decay_from = 0;  // weight decay applies from this position on
  // Positions below replicated_until, and from replicated_from to `used`, are equal on all tensor ranks.
  std::int64_t replicated_until = 0, replicated_from = 0, used = 0;

  // The first of `count` elements that is decayed.
  std::int64_t decayed_part(std::int64_t count) const {
    return std::clamp<std::int64_t>(decay_from - first, 0, count);
  }
};

}  // namespace orrery::kernels
