// Every kernel longer by a factor: what `orrery-rt --emulate` performs, whose kernels are timed waits that must be long
// beside the lateness of a wait.
#pragma once

#include "sim/cost/kernel_cost.h"

namespace orrery::sim {

class StretchedCost final : public KernelCost {
 public:
  StretchedCost(const KernelCost& cost, double factor) : cost_(cost), factor_(factor) {}
  KernelTime time(const schedule::Program& program, const schedule::Op& op,
                  const schedule::KernelShape& shape) const override {
    KernelTime t = cost_.time(program, op, shape);
    t.time = Duration::from_seconds_up(t.time.seconds() * factor_);
    return t;
  }

 private:
  const KernelCost& cost_;
  double factor_;
};

}  // namespace orrery::sim
