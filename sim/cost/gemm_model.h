// Time of a dense matrix product [m x k] x [k x n] on tensor cores: the fastest of a short list of tilings, each with
//
//   waves   = ceil(ceil(m / tm) ceil(n / tn) split batch / SMs)
//   compute = waves * 2 tm tn (k / split + half_k) / (peak / SMs * peak_fraction * e(tm, tn)) [+ split-K reduction]
//   e       = (1 + 8/256 + 8/128) / (1 + 8/tm + 8/tn)               operands per FLOP: a small tile reads more
//   memory  = bytes / (HBM bandwidth * hbm_fraction)
//   time    = launch + t (1 + droop t / (t + 3 ms)),  t = (compute^4 + memory^4)^(1/4)
//
// Under Clock::sustained the droop applies in full. Source of the form: CUTLASS's "efficient GEMM" (tiles, waves,
// split-K) and the roofline; constants are fitted per GPU type (docs/models/kernels.md). Never faster than the peak or
// the HBM bandwidth. About 0.3 us, no allocation.
#pragma once

#include "sim/cost/kernel_device.h"

namespace orrery::sim {

struct GemmCall {
  double m = 0.0, n = 0.0, k = 0.0;
  double batch = 1.0;  // independent products
  double bytes = 0.0;  // minimal traffic of all of them: operands once, results written once, or twice to accumulate
};

double gemm_seconds(const GemmCall& call, const KernelDevice& device, const hardware::KernelFit& fit, Clock clock);

}  // namespace orrery::sim
