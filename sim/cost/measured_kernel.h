// One kernel of a measured table: its time at any size.
//
//   at a measured size   the median measured between them         baseline x exp(r), baseline = fixed + flops
//   x a + bytes x b  (robust fit, hardware/rate_fit.h),
//                        r = ln(measured / baseline) interpolated in ln(dims) from the nearest points
//                        (scattered.h) interpolated
//   outside of them      the same, r taken at the nearest place within the measured sizes and fading as
//                        exp(-distance in ln(dims)): far out the baseline alone modelled
//
// The baseline carries the orders of magnitude, so r is near 0 and smooth, and a sparse set of sizes is
// enough. The spread of an interpolated time is what leaving out each of the points (at most 64 of them) and
// interpolating it misses; that of a modelled one is twice that, or what the baseline alone misses, and grows
// with the distance. docs/models/measured-tables.md.
#pragma once

#include <array>
#include <vector>

#include "hardware/kernel_table.h"
#include "hardware/rate_fit.h"
#include "sim/cost/origin.h"
#include "sim/cost/scattered.h"

namespace orrery::sim {

struct KernelSize {
  std::array<std::int64_t, hardware::kMaxTableDims> dims{};
  double flops = 0.0, bytes = 0.0;
};

struct KernelEstimate {
  double seconds = 0.0;
  Origin origin = Origin::modelled;
  double log_low = 0.0, log_high = 0.0;
  double busy_factor =
      0.0;  // time with all `busy_ranks` ranks running it / time alone, at least 1; 0: not measured
};

class MeasuredKernel {
 public:
  // `kernel` must outlive this. It has at least one point.
  explicit MeasuredKernel(const hardware::MeasuredKernel& kernel);

  KernelEstimate at(const KernelSize& size) const;
  // Of a kernel that is only similar, for a size of this one: always modelled.
  KernelEstimate borrowed(const KernelSize& size) const;
  const hardware::RateFit& baseline() const { return baseline_; }

 private:
  double estimated(const KernelSize& size, double& distance) const;
  double busy_factor(const ScatteredPlace& place) const;
  void measure_spread();

  const hardware::MeasuredKernel& kernel_;
  hardware::RateFit baseline_;
  std::vector<ScatteredPoint> ratios_;               // ln(measured / baseline), like kernel_.points
  std::vector<ScatteredPoint> busy_;                 // ln(busy / alone), of the points that have it
  ScatteredPlace least_{}, most_{};                  // of the measured sizes
  double inside_low_ = 0.0, inside_high_ = 0.0;      // of interpolated times
  double baseline_low_ = 0.0, baseline_high_ = 0.0;  // of the baseline alone
};

}  // namespace orrery::sim
