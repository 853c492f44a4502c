// Time of a kernel that HBM bandwidth bounds (norms, elementwise, softmax, loss, optimizer):
//
//   time = launch + passes * bytes * (hit / l2_speedup + 1 - hit) / (HBM bandwidth * fraction)
//   hit  = 1 while the bytes fit the L2 cache, falling to 0 at twice its size: what the previous kernel left there
//
// `fraction` is peak_fraction for streams, reduction_fraction for kernels that reduce rows or columns (norms, softmax,
// loss, bias gradients). Small kernels are all launch.
#pragma once

#include "sim/cost/kernel_device.h"

namespace orrery::sim {

struct MemoryCall {
  double bytes = 0.0;     // minimal traffic, one pass
  bool reduces = false;
  double passes = 1.0;
};

double memory_seconds(const MemoryCall& call, const KernelDevice& device, const hardware::KernelFit& fit);

}  // namespace orrery::sim
