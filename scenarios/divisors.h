// Whole-number answers to "what would be legal instead": the divisors of n, and the candidates nearest to a
// value. Cost: sqrt(n) divisions; the reader bounds what can come here to a few billions.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::scenarios {

// All divisors of n, ascending; empty for n < 1.
std::vector<std::int64_t> divisors(std::int64_t n);

// Of ascending candidates: the largest below `value` and the smallest above it (or `value` alone if it is
// one).
std::vector<std::int64_t> nearest(const std::vector<std::int64_t>& candidates, std::int64_t value);

// The multiples of `step` around `value`, at least `step`: 256, 14 -> 252, 266.
std::vector<std::int64_t> nearest_multiples(std::int64_t value, std::int64_t step);

}  // namespace orrery::scenarios
