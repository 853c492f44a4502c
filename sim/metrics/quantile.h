// Quantiles of measured values, interpolated between neighbours (type 7 of Hyndman and Fan 1996, as R and
// NumPy do).
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace orrery::sim {

// `q` from 0 to 1. Of no values: 0.
inline double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const double rest = at - static_cast<double>(below);
  return below + 1 < values.size() ? values[below] + rest * (values[below + 1] - values[below])
                                   : values[below];
}

inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

}  // namespace orrery::sim
