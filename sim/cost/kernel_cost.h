// How long one kernel takes when it has its GPU to itself. Every number knows its origin and its spread. A seam: the
// analytic model (analytic_cost.h) is one implementation, measured tables another.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "schedule/ir.h"

namespace orrery::sim {

enum class Origin : std::uint8_t { exact, measured, interpolated, modelled };

struct KernelTime {
  Duration time;
  Origin origin = Origin::modelled;
  // 80 % interval of the true time: time * exp(log_low) .. time * exp(log_high).
  double log_low = 0.0, log_high = 0.0;
};

class KernelCost {
 public:
  virtual ~KernelCost() = default;
  // Compute ops, copies and host_wait (0). Communication is the network's.
  virtual KernelTime time(const schedule::Program& program, const schedule::Op& op,
                          const schedule::KernelShape& shape) const = 0;
};

}  // namespace orrery::sim
