// Time of a fused (flash) attention kernel, forward or backward:
//
//   pairs   = s (k + 128) / 2 causal (blocks on the diagonal are computed in full), s k otherwise; s queries, k keys. Of the
//             keys of another member of a ring, half are seen and none is on the diagonal: s k / 2
//   work    = c heads batch (pairs + half_sequence s) (d + half_k)   FLOPs per pair: c = 4 forward, 10 backward
//   row     = the work of the longest block of 128 query rows: the tail when blocks do not fill the SMs
//   compute = (work + row SMs / 2) / (peak * peak_fraction)
//   time    = launch + (compute^4 + memory^4)^(1/4),  memory = bytes / (HBM bandwidth * hbm_fraction)
//
// half_k stands for the softmax, whose cost does not grow with head_dim; half_sequence for what a query row costs
// whatever the number of keys. Source: Dao 2023 (FlashAttention-2), sections 3.1 and 3.2; constants are fitted.
#pragma once

#include "sim/cost/kernel_device.h"

namespace orrery::sim {

struct AttentionCall {
  double batch = 0.0, sequence = 0.0, keys = 0.0, heads = 0.0, head_dim = 0.0;
  bool causal = true;
  bool diagonal = true;  // causal: some keys are those of the queries
  bool backward = false;
  double bytes = 0.0;  // minimal traffic: q, k, v, o, ... once
};

double attention_seconds(const AttentionCall& call, const KernelDevice& device, const hardware::KernelFit& fit);

}  // namespace orrery::sim
