// How long one kernel takes when it has its GPU to itself. Every number knows its origin and its spread. A seam: the
// analytic model (analytic_cost.h) is one implementation, measured tables another.
#pragma once

#include "base/units.h"
#include "schedule/ir.h"
#include "sim/cost/origin.h"

namespace orrery::sim {

struct KernelTime {
  Duration time;
  Origin origin = Origin::modelled;
  // 80 % interval of the true time: time * exp(log_low) .. time * exp(log_high).
  double log_low = 0.0, log_high = 0.0;
  // By how much each other kernel that runs on the same machine slows it, as a share of its time alone: with k of them it
  // takes time * (1 + contention * k). 0 where kernels have a device to themselves.
  double contention = 0.0;
};

class KernelCost {
 public:
  virtual ~KernelCost() = default;
  // Compute ops, copies and host_wait (0). Communication is the network's.
  virtual KernelTime time(const schedule::Program& program, const schedule::Op& op,
                          const schedule::KernelShape& shape) const = 0;
};

}  // namespace orrery::sim
