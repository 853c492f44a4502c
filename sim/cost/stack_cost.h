// The kernels of a software stack: those of the model, longer or shorter by the factor of their class.
#pragma once

#include <memory>
#include <utility>

#include "hardware/software_stack.h"
#include "sim/cost/analytic_cost.h"
#include "sim/cost/kernel_cost.h"

namespace orrery::sim {

class StackCost final : public KernelCost {
 public:
  StackCost(std::unique_ptr<KernelCost> cost, const hardware::SoftwareStack& stack) : cost_(std::move(cost)), longer_(stack.longer) {}
  KernelTime time(const schedule::Program& program, const schedule::Op& op,
                  const schedule::KernelShape& shape) const override {
    KernelTime t = cost_->time(program, op, shape);
    if (const std::optional<hardware::KernelClass> of = kernel_class(op.kind))
      t.time = Duration::from_seconds_up(t.time.seconds() * longer_[static_cast<std::size_t>(*of)]);
    return t;
  }

 private:
  std::unique_ptr<KernelCost> cost_;
  std::array<double, hardware::kKernelClasses> longer_;
};

}  // namespace orrery::sim
