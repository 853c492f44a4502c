// Quantiles of measured values, interpolated between neighbours (type 7 of Hyndman and Fan 1996, as R and
// NumPy do). Whatever is printed as a median, p10 or p90 is one of these. Cost: a copy and a sort.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace orrery {

// `q` from 0 to 1. Of no values: 0.
template <typename Number>
double quantile(std::vector<Number> values, double q) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const auto value = static_cast<double>(values[below]);
  if (below + 1 >= values.size()) return value;
  return value + (at - static_cast<double>(below)) * (static_cast<double>(values[below + 1]) - value);
}

template <typename Number>
double median(std::vector<Number> values) {
  return quantile(std::move(values), 0.5);
}

}  // namespace orrery
