// Interpolation of a quantity known at scattered points of a few dimensions: a weighted plane through the
// nearest points (local linear regression, Cleveland 1979, with weights 1 / distance^4), which follows a
// slope exactly, and stays within the values of those points. The slope is damped a little, so that points in
// a row do not make it up. Cost: one pass over the points and a solve of at most 6 unknowns.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace orrery::sim {

inline constexpr std::size_t kMaxScatteredDims = 5;
using ScatteredPlace = std::array<double, kMaxScatteredDims>;  // dims that are not used: 0 everywhere

struct ScatteredPoint {
  ScatteredPlace at{};
  double value = 0.0;
};

// `points`: at least one. A point at the very place is weighted so high that its value comes back (to 1e-6).
double interpolate(std::span<const ScatteredPoint> points, const ScatteredPlace& place);

}  // namespace orrery::sim
