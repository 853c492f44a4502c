// One rank performs its step by itself, op after op in host issue order, on its real arena: what a kernel
// finds in the caches is what it finds in a run, which a kernel called in a loop on the same operands does
// not. Kernels go through Device::perform, as the executor's do. Nobody communicates: local_messages.h stands
// in.
//
// Cost: planning and initial weights (25 ns each) when it is made, then a step without its messages.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/cpu/cpu_device.h"
#include "runtime/data/tokens.h"
#include "runtime/executor/arena.h"
#include "runtime/executor/step_plan.h"
#include "runtime/state/state_memory.h"
#include "schedule/ir.h"

namespace orrery::runtime {

class SoloWalk {
 public:
  // By the thread that will walk.
  SoloWalk(const schedule::Schedule& schedule, std::int64_t rank, const TokenSource& tokens);

  // Of every kernel and copy. `ran_ns` is the wall's time, or where the thread lost its core meanwhile
  // (another program ran there) what its own clock says.
  struct Timing {
    std::uint32_t op = 0;
    std::int64_t ran_ns = 0;
    bool lost_core = false;
  };
  // Walks one step; `each` returns false to end it early.
  void step(const std::function<bool(const Timing&)>& each);

  const StepPlan& plan() const { return plan_; }

 private:
  class State;
  // Pages come when they are touched, in the first step.
  class Pages {
   public:
    explicit Pages(std::int64_t bytes);
    ~Pages();
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    std::byte* data() const { return data_; }

   private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
  };
  std::byte* base_of(const schedule::Buffer& buffer) const {
    return (buffer.on_host ? host_ : device_memory_).data();
  }
  OpCall call_of(std::uint32_t op) const;

  CpuDevice device_;
  StepPlan plan_;
  ArenaPlan arena_;
  Pages device_memory_, host_;
  std::vector<std::byte*> view_data_;  // of each view of the plan
  std::int64_t step_ = 0;
};

}  // namespace orrery::runtime
