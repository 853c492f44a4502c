// The one place where elements of several ranks are combined, used by every transport, so that they agree bitwise:
//
//   y = narrow(((x0 + x1) + x2) + ...)        or, with `adds`, narrow(widen(y) + (((x0 + x1) + x2) + ...))
//
// (max in place of the inner + where asked for)
//
// with x0, x1, ... in the order of the sources (the members of the group), each widened to fp32 (fp64 for fp64, itself
// for integers, whose sums wrap around), rounded once at the end. It goes in blocks that stay in the first-level cache:
// each source is read once, the result written once, so the cost is (sources + 1) x bytes of memory traffic.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/comm/flat_cursor.h"

namespace orrery::runtime {

struct Reduction {
  Element element = Element::fp32;
  CommReduce reduce = CommReduce::sum;
  bool adds = false;
};

// Combines the next `count` elements of the sources into `to`, and moves all cursors. A source may lie where `to` does.
void reduce_elements(const Reduction& how, std::span<FlatCursor> sources, FlatCursor& to, std::int64_t count);

}  // namespace orrery::runtime
