#include "sim/cost/scattered.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace orrery::sim {
namespace {

constexpr std::size_t kNearest = 12;
constexpr std::size_t kUnknowns =
    kMaxScatteredDims + 1;           // the value at the place, and a slope in each dimension
constexpr double kCloseness = 1e-3;  // distances below it are all the same
constexpr double kDamping = 1e-3;    // of a slope, as a share of the mean squared distance
constexpr double kLeastDamping = 1e-9;

struct Neighbour {
  double distance2 = std::numeric_limits<double>::infinity();
  const ScatteredPoint* point = nullptr;
};

// The nearest points, nearest first; equally near ones in their order, so that the result is always the same.
std::size_t find_nearest(std::span<const ScatteredPoint> points, const ScatteredPlace& place,
                         std::array<Neighbour, kNearest>& nearest) {
  std::size_t found = 0;
  for (const ScatteredPoint& point : points) {
    double distance2 = 0.0;
    for (std::size_t d = 0; d < kMaxScatteredDims; ++d)
      distance2 += (point.at[d] - place[d]) * (point.at[d] - place[d]);
    if (found == kNearest && distance2 >= nearest[kNearest - 1].distance2) continue;
    std::size_t at = found < kNearest ? found++ : kNearest - 1;
    for (; at > 0 && nearest[at - 1].distance2 > distance2; --at) nearest[at] = nearest[at - 1];
    nearest[at] = {distance2, &point};
  }
  return found;
}

using Matrix = std::array<std::array<double, kUnknowns>, kUnknowns>;

// The first unknown of a symmetric positive definite system, by Gaussian elimination from the last row up.
double first_unknown(Matrix& a, std::array<double, kUnknowns>& right) {
  for (std::size_t k = kUnknowns; k-- > 1;)
    for (std::size_t i = 0; i < k; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = 0; j < k; ++j) a[i][j] -= factor * a[k][j];
      right[i] -= factor * right[k];
    }
  return right[0] / a[0][0];
}

}  // namespace

double interpolate(std::span<const ScatteredPoint> points, const ScatteredPlace& place) {
  CHECK(!points.empty());
  std::array<Neighbour, kNearest> nearest;
  const std::size_t found = find_nearest(points, place, nearest);
  Matrix a{};
  std::array<double, kUnknowns> right{};
  double spread = 0.0, least = nearest[0].point->value, most = least;
  for (std::size_t n = 0; n < found; ++n) {
    const auto& [distance2, point] = nearest[n];
    const double weight = std::pow(distance2 + kCloseness * kCloseness, -2.0);
    std::array<double, kUnknowns> row{1.0};
    for (std::size_t d = 0; d < kMaxScatteredDims; ++d) row[d + 1] = point->at[d] - place[d];
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      right[i] += weight * row[i] * point->value;
      for (std::size_t j = 0; j < kUnknowns; ++j) a[i][j] += weight * row[i] * row[j];
    }
    spread += weight * distance2;
    least = std::min(least, point->value);
    most = std::max(most, point->value);
  }
  for (std::size_t d = 1; d < kUnknowns; ++d) a[d][d] += kDamping * spread + kLeastDamping * a[0][0];
  return std::clamp(first_unknown(a, right), least, most);
}

}  // namespace orrery::sim
