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
  // Memory is touched by the calling thread, which should be the one that walks.
  SoloWalk(const schedule::Schedule& schedule, std::int64_t rank, const TokenSource& tokens);

  // Called for every kernel and copy with its op id, when it began and ended (now_ns), and whether the thread
  // lost its core.
  struct Timing {
    std::uint32_t op = 0;
    std::int64_t began_ns = 0, ended_ns = 0;
    bool lost_core = false;
  };
  // Walks one step; `each` returns false to end it early.
  void step(const std::function<bool(const Timing&)>& each);

  const StepPlan& plan() const { return plan_; }
  std::int64_t bytes() const { return arena_.device_bytes + arena_.host_bytes; }

 private:
  class Memory;
  OpCall call_of(std::uint32_t op) const;

  CpuDevice device_;
  StepPlan plan_;
  ArenaPlan arena_;
  std::byte *device_memory_ = nullptr, *host_memory_ = nullptr;
  std::vector<std::byte*> view_data_;  // of each view of the plan
  std::int64_t step_ = 0;
};

}  // namespace orrery::runtime
