// Elements as plain bytes, and the plain meaning of every kind of call on them: what the transports are held against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/comm/communicator.h"

namespace orrery::runtime::test {

using Flat = std::vector<std::byte>;  // elements one behind the other

// Draws from a seed: sums of them round, differently in every order.
Flat drawn(Element element, std::int64_t count, std::uint64_t seed);

// Member by member, from the left.
Flat combined(Element element, CommReduce reduce, const std::vector<Flat>& members);
Flat added(Element element, const Flat& y, const std::vector<Flat>& members);  // y + (sum of the members), rounded once

Flat concatenated(const std::vector<Flat>& parts);
Flat chunk(const Flat& all, std::size_t index, std::size_t of);

// What member `index` finds in y, by piece. x and y before: by member, then piece.
using Pieces = std::vector<Flat>;
Pieces expected(const CommCall& call, int index, const std::vector<Pieces>& x, const std::vector<Pieces>& y);

}  // namespace orrery::runtime::test
