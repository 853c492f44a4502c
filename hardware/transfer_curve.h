// What a measured curve says about one size, and whether a line fits it. Between points the time is
// interpolated linearly in ln(bytes), ln(seconds), so a curve that bends, or falls, is followed as it was
// measured. Beyond the ends it goes on as alpha + beta x bytes through the last few points there. Used by the
// network model, and by calibration to report what it found.
#pragma once

#include <cstdint>
#include <string>

#include "hardware/rate_fit.h"
#include "hardware/transfer_table.h"

namespace orrery::hardware {

enum class CurvePart : std::uint8_t {
  point,
  between,
  beyond
};  // at a measured size, between two, outside of all

struct CurveTime {
  double seconds = 0.0;
  CurvePart part = CurvePart::point;
  double log_low = 0.0, log_high = 0.0;  // 80 % interval: seconds * exp(low) .. seconds * exp(high)
};

// `bytes` >= 0. The interval: at a point its own percentiles; between points, in addition what leaving out
// each inner point and interpolating it misses (at least 3 %); beyond, twice that and at least 30 %.
CurveTime time_at(const TransferCurve& curve, double bytes);

// alpha + beta x bytes through all points, and how far the curve is from it.
struct CurveShape {
  RateFit line;
  double worst = 0.0;  // largest |ln(measured / line)|
  std::int64_t worst_bytes = 0;
  double best_bandwidth = 0.0;  // bytes / seconds, the most of all sizes
  std::int64_t best_bytes = 0;
  double last_bandwidth = 0.0;  // at the largest size
  bool straight =
      true;  // no point is off the line by more than a factor of 2, and no bandwidth is lost again
};
CurveShape shape_of(const TransferCurve& curve);

// Where no line fits: "all_reduce among 4 ranks (one_node): bandwidth falls from 28.0 GB/s at 64 MiB to 5.0
// GB/s ..."; else empty. Such a curve is used as measured; nobody should quote one bandwidth for it.
std::string bend_of(const TransferCurve& curve);

}  // namespace orrery::hardware
