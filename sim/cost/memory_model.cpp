#include "sim/cost/memory_model.h"

#include <algorithm>

namespace orrery::sim {

double memory_seconds(const MemoryCall& call, const KernelDevice& device, const hardware::KernelFit& fit) {
  const double hit = std::clamp(2.0 - call.bytes / device.l2, 0.0, 1.0);
  const double fraction = call.reduces ? fit.reduction_fraction : fit.peak_fraction;
  const double from_hbm = call.passes * call.bytes / (device.hbm * fraction);
  return fit.launch_us * 1e-6 + from_hbm * (hit / fit.l2_speedup + 1.0 - hit);
}

}  // namespace orrery::sim
