// What the executor needs of a machine: memory, and somebody who performs an op that has no other side. The CPU is one
// (runtime/cpu/cpu_device.h), timed waits are another (runtime/cpu/emulated_device.h); a GPU comes behind the same seam.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "runtime/executor/step_plan.h"

namespace orrery::runtime {

// One op, about to be performed. `data[i]` is the first element of its i-th view.
struct OpCall {
  const StepPlan* plan = nullptr;
  std::uint32_t id = 0;
  std::int64_t step = 0;
  std::span<std::byte* const> data;

  const PlannedOp& op() const { return plan->ops[id]; }
  std::span<const PlannedView> views() const { return plan->views_of(op()); }
  const schedule::KernelShape& shape() const { return plan->shape(op()); }
};

class Device {
 public:
  virtual ~Device() = default;
  // Lives as long as the device. Where elements mean something, filled with ones (NaN in every floating type), so that
  // nothing passes for zero unnoticed. Large memory takes seconds to touch: `moved` is called whenever some of it was.
  virtual std::byte* allocate(std::int64_t bytes, const std::function<void()>& moved) = 0;
  // Bytes of one element of a type on this device.
  virtual std::int64_t element_bytes(schedule::DataType type) const = 0;
  // Returns when it is done. What a cross_entropy_loss op adds to the loss, else 0. Ops of different streams come from
  // different threads.
  virtual double perform(const OpCall& call) = 0;
};

}  // namespace orrery::runtime
