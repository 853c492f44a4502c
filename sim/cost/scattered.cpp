#include "sim/cost/scattered.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace orrery::sim {
namespace {

constexpr std::size_t kNearest = 16;
constexpr std::size_t kLeftOut = 48;
constexpr std::array kLengths = {0.7, 2.0, 6.0};  // e-folds, where dims are logarithms
// The first keeps the system solvable where points lie together; the last is next to no trust in any point.
constexpr std::array kNoises = {1e-3, 0.03, 0.3, 3.0, 100.0};
constexpr double kMatters = 0.05;      // a miss; larger ones count as their logarithm
constexpr double kOutlier = 2.5;       // robust deviations
constexpr double kOutlierNoise = 1e4;  // times that of other points: next to no weight
constexpr double kMadToSigma = 1.4826;
constexpr double kLeastSigma = 0.04;  // nobody is an outlier for less than 10 %

double distance2(const ScatteredPlace& a, const ScatteredPlace& b) {
  double sum = 0.0;
  for (std::size_t d = 0; d < kMaxScatteredDims; ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return sum;
}

double correlation(double d2, double length) {  // Matern 5/2
  const double x = std::sqrt(5.0 * d2) / length;
  return (1.0 + x + x * x / 3.0) * std::exp(-x);
}

// On the stack: there are at most kNearest.
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kNearest, kNearest>;
using Vector = Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, kNearest, 1>;

}  // namespace

struct ScatteredField::Neighbours {
  std::array<double, kNearest> distance2;
  std::array<std::size_t, kNearest> point;
  std::size_t count = 0;
};

ScatteredField::ScatteredField(std::vector<ScatteredPoint> points, double prior)
    : points_(std::move(points)), noise_(points_.size(), 1.0), prior_(prior) {
  if (points_.size() < 2) return;
  choose_smoothness();
  find_outliers();
  choose_smoothness();
}

void ScatteredField::choose_smoothness() {
  const std::size_t step = (points_.size() + kLeftOut - 1) / kLeftOut;
  double least = std::numeric_limits<double>::infinity();
  for (const double length : kLengths)
    for (const double noise : kNoises) {
      std::vector<double> missed = leave_one_out(step, {length, noise});
      double sum = 0.0;
      for (const double m : missed) sum += std::log1p(m * m / (kMatters * kMatters));
      if (sum >= least) continue;
      least = sum;
      smoothness_ = {length, noise};
      missed_ = std::move(missed);
    }
}

void ScatteredField::find_outliers() {
  const std::vector<double> missed = leave_one_out(1, smoothness_);
  std::vector<double> sizes;
  for (const double m : missed) sizes.push_back(std::abs(m));
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  const double limit = kOutlier * std::max(kLeastSigma, kMadToSigma * *middle);
  for (std::size_t i = 0; i < missed.size(); ++i)
    noise_[i] = std::abs(missed[i]) > limit ? kOutlierNoise : 1.0;
}

std::vector<double> ScatteredField::leave_one_out(std::size_t step, const Smoothness& smoothness) const {
  std::vector<double> missed;
  for (std::size_t i = 0; i < points_.size(); i += step)
    missed.push_back(points_[i].value - estimate(nearest(points_[i].at, i), smoothness));
  return missed;
}

double ScatteredField::at(const ScatteredPlace& place) const {
  return estimate(nearest(place, points_.size()), smoothness_);
}

// Nearest first; equally near ones in their order, so that the result is always the same.
ScatteredField::Neighbours ScatteredField::nearest(const ScatteredPlace& place, std::size_t left_out) const {
  Neighbours n;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (i == left_out) continue;
    const double d2 = distance2(points_[i].at, place);
    if (n.count == kNearest && d2 >= n.distance2[kNearest - 1]) continue;
    std::size_t at = n.count < kNearest ? n.count++ : kNearest - 1;
    for (; at > 0 && n.distance2[at - 1] > d2; --at) {
      n.distance2[at] = n.distance2[at - 1];
      n.point[at] = n.point[at - 1];
    }
    n.distance2[at] = d2;
    n.point[at] = i;
  }
  return n;
}

double ScatteredField::estimate(const Neighbours& near, const Smoothness& smoothness) const {
  if (near.count == 0) return prior_;
  const auto count = static_cast<Eigen::Index>(near.count);
  Matrix matrix(count, count);  // its lower half: it is symmetric
  Vector weights(count), to_place(count);
  double least = prior_, most = prior_;
  for (Eigen::Index i = 0; i < count; ++i) {
    const std::size_t at = near.point[static_cast<std::size_t>(i)];
    const ScatteredPoint& point = points_[at];
    for (Eigen::Index j = 0; j < i; ++j)
      matrix(i, j) = correlation(distance2(point.at, points_[near.point[static_cast<std::size_t>(j)]].at),
                                 smoothness.length);
    matrix(i, i) = 1.0 + smoothness.noise * noise_[at];
    weights[i] = point.value - prior_;
    to_place[i] = correlation(near.distance2[static_cast<std::size_t>(i)], smoothness.length);
    least = std::min(least, point.value);
    most = std::max(most, point.value);
  }
  Eigen::LLT<Eigen::Ref<Matrix>>(matrix).solveInPlace(weights);
  return std::clamp(prior_ + to_place.dot(weights), least, most);
}

}  // namespace orrery::sim
