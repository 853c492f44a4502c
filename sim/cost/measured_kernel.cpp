#include "sim/cost/measured_kernel.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace orrery::sim {
namespace {

constexpr std::size_t kLeftOut = 64;        // points that are left out in turn to learn the spread
constexpr std::size_t kEnoughPoints = 4;    // to learn it from
constexpr double kLeastSpread = 0.02;       // run to run, whatever the table says
constexpr double kUnknownSpread = 0.3;      // where there are too few points
constexpr double kSpreadPerDistance = 0.1;  // beyond the measured sizes, per e-fold of distance
constexpr double kLeastSeconds = 1e-9;

ScatteredPlace place_of(const std::array<std::int64_t, hardware::kMaxTableDims>& dims) {
  ScatteredPlace place{};
  for (std::size_t d = 0; d < dims.size(); ++d)
    place[d] = std::log(static_cast<double>(std::max<std::int64_t>(dims[d], 1)));
  return place;
}

// 10th and 90th percentile, rounded outwards.
void percentiles(std::vector<double>& values, double& low, double& high) {
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  low = values[static_cast<std::size_t>(std::floor(0.1 * last))];
  high = values[static_cast<std::size_t>(std::ceil(0.9 * last))];
}

hardware::RateFit baseline_of(const hardware::MeasuredKernel& kernel) {
  std::vector<hardware::TimedWork> work;
  for (const hardware::KernelPoint& p : kernel.points) work.push_back({p.flops, p.bytes, p.seconds});
  return hardware::fit_rates(work);
}

}  // namespace

MeasuredKernel::MeasuredKernel(const hardware::MeasuredKernel& kernel)
    : kernel_(kernel), baseline_(baseline_of(kernel)) {
  for (const hardware::KernelPoint& p : kernel.points) {
    const ScatteredPlace place = place_of(p.dims);
    ratios_.push_back({place, std::log(p.seconds / baseline_.seconds(p.flops, p.bytes))});
    if (p.busy_seconds > 0.0) busy_.push_back({place, std::log(p.busy_seconds / p.seconds)});
    const bool first = ratios_.size() == 1;
    for (std::size_t d = 0; d < place.size(); ++d) {
      least_[d] = first ? place[d] : std::min(least_[d], place[d]);
      most_[d] = first ? place[d] : std::max(most_[d], place[d]);
    }
  }
  measure_spread();
}

void MeasuredKernel::measure_spread() {
  std::vector<double> missed, off;
  for (const ScatteredPoint& ratio : ratios_) off.push_back(ratio.value);
  percentiles(off, baseline_low_, baseline_high_);
  inside_low_ = -kUnknownSpread;
  inside_high_ = kUnknownSpread;
  if (ratios_.size() < kEnoughPoints) return;
  const std::size_t step = (ratios_.size() + kLeftOut - 1) / kLeftOut;
  std::vector<ScatteredPoint> others(ratios_.begin() + 1, ratios_.end());
  for (std::size_t i = 0, out = 0; i < ratios_.size(); i += step) {
    for (; out < i; ++out) others[out] = ratios_[out];  // now all but point i
    missed.push_back(ratios_[i].value - interpolate(others, ratios_[i].at));
  }
  percentiles(missed, inside_low_, inside_high_);
  inside_low_ = std::min(inside_low_, -kLeastSpread);
  inside_high_ = std::max(inside_high_, kLeastSpread);
}

double MeasuredKernel::estimated(const KernelSize& size, double& distance) const {
  ScatteredPlace place = place_of(size.dims);
  distance = 0.0;
  for (std::size_t d = 0; d < place.size(); ++d) {
    const double inside = std::clamp(place[d], least_[d], most_[d]);
    distance = std::hypot(distance, place[d] - inside);
    place[d] = inside;
  }
  const double ratio = interpolate(ratios_, place) * std::exp(-distance);
  return std::max(baseline_.seconds(size.flops, size.bytes), kLeastSeconds) * std::exp(ratio);
}

double MeasuredKernel::busy_factor(const ScatteredPlace& place) const {
  return busy_.empty() ? 0.0 : std::exp(std::max(0.0, interpolate(busy_, place)));
}

KernelEstimate MeasuredKernel::at(const KernelSize& size) const {
  KernelEstimate e;
  e.busy_factor = busy_factor(place_of(size.dims));
  const auto known = std::find_if(kernel_.points.begin(), kernel_.points.end(),
                                  [&](const hardware::KernelPoint& p) { return p.dims == size.dims; });
  if (known != kernel_.points.end()) {
    e.seconds = known->seconds;
    e.origin = Origin::measured;
    e.log_low = std::min(std::log(known->p10 / known->seconds), -kLeastSpread);
    e.log_high = std::max(std::log(known->p90 / known->seconds), kLeastSpread);
    if (known->busy_seconds > 0.0) e.busy_factor = std::max(1.0, known->busy_seconds / known->seconds);
    return e;
  }
  double distance = 0.0;
  e.seconds = estimated(size, distance);
  e.log_low = inside_low_;
  e.log_high = inside_high_;
  if (distance <= 1e-9) {
    e.origin = Origin::interpolated;
    return e;
  }
  e.origin = Origin::modelled;
  e.log_low = std::min(2.0 * inside_low_, baseline_low_) - kSpreadPerDistance * distance;
  e.log_high = std::max(2.0 * inside_high_, baseline_high_) + kSpreadPerDistance * distance;
  return e;
}

KernelEstimate MeasuredKernel::borrowed(const KernelSize& size) const {
  KernelEstimate e = at(size);
  double distance = 0.0;
  e.seconds = estimated(size, distance);  // not the median of the other kernel, whose work may differ
  e.origin = Origin::modelled;
  e.log_low = std::min(2.0 * inside_low_, -kUnknownSpread) - kSpreadPerDistance * distance;
  e.log_high = std::max(2.0 * inside_high_, kUnknownSpread) + kSpreadPerDistance * distance;
  return e;
}

}  // namespace orrery::sim
