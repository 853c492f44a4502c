// The points that extract_points.py selects: one measured kernel each, and what the kernel models predict for it.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "sim/cost/kernel_device.h"

namespace orrery::validation {

struct Point {
  hardware::KernelClass kernel_class = hardware::KernelClass::gemm;
  std::string source;
  std::array<double, 6> d{};  // extract_points.py says what they mean
  double seconds = 0.0;       // measured
};

// Points by "class/profile", in file order; profiles that are only compared begin with "check:".
using PointSets = std::map<std::string, std::vector<Point>>;

// Throws InputError for a file that is not what extract_points.py writes.
PointSets read_points(const std::string& path);

double predicted_seconds(const Point& point, const sim::KernelDevice& device, const hardware::KernelFit& fit);

// ln(measured / predicted) of every point.
std::vector<double> log_residuals(const std::vector<Point>& points, const sim::KernelDevice& device,
                                  const hardware::KernelFit& fit);

struct Errors {
  double median = 0.0, p90 = 0.0;         // of |measured - predicted| / measured
  double bias = 0.0;                      // median of ln(measured / predicted)
  double low = 0.0, high = 0.0;           // 10th and 90th percentile of it
  std::size_t points = 0;
};
Errors errors(std::vector<double> log_residuals);

}  // namespace orrery::validation
