#include "sim/cost/measured_kernel.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace orrery::sim {
namespace {

constexpr std::size_t kEnoughPoints = 4;    // to learn a spread from
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
void percentiles(std::vector<double> values, double& low, double& high) {
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

double ratio_of(const hardware::KernelPoint& p, const hardware::RateFit& baseline) {
  return std::log(p.seconds / baseline.seconds(p.flops, p.bytes));
}

ScatteredField ratios_of(const hardware::MeasuredKernel& kernel, const hardware::RateFit& baseline) {
  std::vector<ScatteredPoint> ratios;
  for (const hardware::KernelPoint& p : kernel.points)
    ratios.push_back({place_of(p.dims), ratio_of(p, baseline)});
  return {std::move(ratios), 0.0};
}

// Far from all points a kernel is as sensitive to the others as it is in the median.
ScatteredField busy_of(const hardware::MeasuredKernel& kernel) {
  std::vector<ScatteredPoint> busy;
  std::vector<double> values;
  for (const hardware::KernelPoint& p : kernel.points) {
    if (p.busy_seconds <= 0.0) continue;
    values.push_back(std::log(p.busy_seconds / p.seconds));
    busy.push_back({place_of(p.dims), values.back()});
  }
  if (busy.empty()) return {{}, 0.0};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return {std::move(busy), *middle};
}

}  // namespace

MeasuredKernel::Learned::Learned(const hardware::MeasuredKernel& kernel)
    : baseline(baseline_of(kernel)), ratio(ratios_of(kernel, baseline)), busy(busy_of(kernel)) {
  least = most = place_of(kernel.points.front().dims);
  std::vector<double> off;
  for (const hardware::KernelPoint& p : kernel.points) {
    const ScatteredPlace place = place_of(p.dims);
    for (std::size_t d = 0; d < place.size(); ++d) {
      least[d] = std::min(least[d], place[d]);
      most[d] = std::max(most[d], place[d]);
    }
    has_busy |= p.busy_seconds > 0.0;
    off.push_back(ratio_of(p, baseline));
  }
  percentiles(std::move(off), of_baseline.low, of_baseline.high);
  inside = {-kUnknownSpread, kUnknownSpread};
  if (kernel.points.size() < kEnoughPoints) return;
  percentiles(ratio.missed(), inside.low, inside.high);
  inside = {std::min(inside.low, -kLeastSpread), std::max(inside.high, kLeastSpread)};
}

double MeasuredKernel::Learned::distance(const ScatteredPlace& place) const {
  double sum = 0.0;
  for (std::size_t d = 0; d < place.size(); ++d)
    sum = std::hypot(sum, place[d] - std::clamp(place[d], least[d], most[d]));
  return sum <= 1e-9 ? 0.0 : sum;
}

double MeasuredKernel::Learned::seconds(const KernelSize& size) const {
  return std::max(baseline.seconds(size.flops, size.bytes), kLeastSeconds) *
         std::exp(ratio.at(place_of(size.dims)));
}

double MeasuredKernel::Learned::busy_factor(const ScatteredPlace& place) const {
  return has_busy ? std::exp(std::max(0.0, busy.at(place))) : 0.0;
}

const MeasuredKernel::Learned& MeasuredKernel::learned() const {
  if (!learned_) learned_.emplace(kernel_);
  return *learned_;
}

KernelEstimate MeasuredKernel::at(const KernelSize& size) const {
  const ScatteredPlace place = place_of(size.dims);
  KernelEstimate e;
  const auto known = std::find_if(kernel_.points.begin(), kernel_.points.end(),
                                  [&](const hardware::KernelPoint& p) { return p.dims == size.dims; });
  if (known != kernel_.points.end()) {
    e.seconds = known->seconds;
    e.origin = Origin::measured;
    e.log_low = std::min(std::log(known->p10 / known->seconds), -kLeastSpread);
    e.log_high = std::max(std::log(known->p90 / known->seconds), kLeastSpread);
    e.busy_factor = known->busy_seconds > 0.0 ? std::max(1.0, known->busy_seconds / known->seconds)
                                              : learned().busy_factor(place);
    return e;
  }
  const Learned& l = learned();
  const double beyond = l.distance(place);
  e.seconds = l.seconds(size);
  e.busy_factor = l.busy_factor(place);
  e.log_low = l.inside.low;
  e.log_high = l.inside.high;
  if (beyond == 0.0) {
    e.origin = Origin::interpolated;
    return e;
  }
  e.origin = Origin::modelled;
  e.log_low = std::min(2.0 * l.inside.low, l.of_baseline.low) - kSpreadPerDistance * beyond;
  e.log_high = std::max(2.0 * l.inside.high, l.of_baseline.high) + kSpreadPerDistance * beyond;
  return e;
}

KernelEstimate MeasuredKernel::borrowed(const KernelSize& size) const {
  const Learned& l = learned();
  const ScatteredPlace place = place_of(size.dims);
  const double beyond = l.distance(place);
  KernelEstimate e;
  e.seconds = l.seconds(size);  // not the median of the other kernel, whose work may differ
  e.busy_factor = l.busy_factor(place);
  e.log_low = std::min(2.0 * l.inside.low, -kUnknownSpread) - kSpreadPerDistance * beyond;
  e.log_high = std::max(2.0 * l.inside.high, kUnknownSpread) + kSpreadPerDistance * beyond;
  return e;
}

}  // namespace orrery::sim
