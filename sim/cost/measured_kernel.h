// One kernel of a measured table: its time at any size.
//
//   at a measured size   the median                                                        measured
//   between them         baseline x exp(r); baseline = fixed + flops x a + bytes x b
//                        (robust fit, hardware/rate_fit.h), r = ln(measured / baseline)
//                        interpolated in ln(dims) (scattered.h)                            interpolated
//   outside of them      the same; r fades to 0: far out the baseline alone                modelled
//
// The baseline carries the orders of magnitude, so r is near 0 and smooth, and a sparse set of sizes is
// enough. The spread of an interpolated time is what leaving out each of the points (at most 48 of them) and
// interpolating it misses; that of a modelled one is twice that, or what the baseline alone misses, and grows
// with the distance. What interpolation needs is learnt when it is first needed: a kernel whose sizes are all
// measured costs nothing. docs/models/measured-tables.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

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
  explicit MeasuredKernel(const hardware::MeasuredKernel& kernel) : kernel_(kernel) {}

  KernelEstimate at(const KernelSize& size) const;
  // Of a kernel that is only similar, for a size of this one: always modelled.
  KernelEstimate borrowed(const KernelSize& size) const;
  const hardware::RateFit& baseline() const { return learned().baseline; }

 private:
  struct Spread {
    double low = 0.0, high = 0.0;
  };
  struct Learned {
    explicit Learned(const hardware::MeasuredKernel& kernel);
    double seconds(const KernelSize& size) const;
    double distance(const ScatteredPlace& place) const;  // from the range of the measured sizes; 0: within
    double busy_factor(const ScatteredPlace& place) const;

    hardware::RateFit baseline;
    ScatteredField ratio;  // ln(measured / baseline)
    ScatteredField busy;   // ln(busy / alone), from the points that have it
    bool has_busy = false;
    ScatteredPlace least{}, most{};  // of the measured sizes
    Spread inside, of_baseline;      // of interpolated times; of the baseline alone
  };
  const Learned& learned() const;

  const hardware::MeasuredKernel& kernel_;
  mutable std::optional<Learned> learned_;
};

}  // namespace orrery::sim
