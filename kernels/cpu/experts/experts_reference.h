// The same in doubles and plain loops, written apart from the kernels: what their tests compare with.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/cpu/experts/route.h"
#include "kernels/matrix.h"

namespace orrery::kernels::reference {

inline std::vector<double> scores(const Routing& routing, const std::vector<double>& x) {
  std::vector<double> s;
  double sum = 0.0;
  for (const double v : x) {
    s.push_back(routing.sigmoid ? 1.0 / (1.0 + std::exp(-v)) : std::exp(v));
    sum += s.back();
  }
  for (double& v : s) v /= routing.sigmoid ? 1.0 : sum;
  return s;
}

// Weights of given experts: what route_backward differentiates.
inline std::vector<double> weights(const Routing& routing, const std::vector<double>& x,
                                   const std::vector<std::int32_t>& experts) {
  const std::vector<double> s = scores(routing, x);
  double sum = 0.0;
  for (const std::int32_t e : experts) sum += s[static_cast<std::size_t>(e)];
  std::vector<double> w;
  for (const std::int32_t e : experts)
    w.push_back(routing.scale * s[static_cast<std::size_t>(e)] / (routing.normalized ? sum : 1.0));
  return w;
}

// How many experts (or groups) go before: higher, or equal with a lower number.
inline std::int64_t place_of(const std::vector<double>& values, std::size_t i) {
  std::int64_t before = 0;
  for (std::size_t k = 0; k < values.size(); ++k)
    before += values[k] > values[i] || (values[k] == values[i] && k < i) ? 1 : 0;
  return before;
}

}  // namespace orrery::kernels::reference
