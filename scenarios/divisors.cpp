// Trial division up to the square root; candidates are found by binary search.
#include "scenarios/divisors.h"

#include <algorithm>

namespace orrery::scenarios {

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; n > 0 && d <= n / d; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d != n / d) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

std::vector<std::int64_t> nearest(const std::vector<std::int64_t>& candidates, std::int64_t value) {
  std::vector<std::int64_t> found;
  const auto above = std::lower_bound(candidates.begin(), candidates.end(), value);
  if (above != candidates.end() && *above == value) return {value};
  if (above != candidates.begin()) found.push_back(*(above - 1));
  if (above != candidates.end()) found.push_back(*above);
  return found;
}

std::vector<std::int64_t> nearest_multiples(std::int64_t value, std::int64_t step) {
  const std::int64_t below = value / step * step;
  if (below == value) return {value};
  if (below == 0) return {step};
  return {below, below + step};
}

}  // namespace orrery::scenarios
