// Kernels that are timed waits: the durations come from a simulated Trace, messages stay real. A schedule can so be performed
// on many more ranks than there are cores, and its makespan held against the simulated one. The waits sleep, so ranks do
// not take each other's cores. They should be long beside the microseconds by which a sleep ends late: `orrery run
// --emulated-stretch` makes such a trace.
#pragma once

#include <memory>
#include <vector>

#include "runtime/executor/device.h"
#include "runtime/executor/stop.h"
#include "schedule/trace.h"

namespace orrery::runtime {

class EmulatedDevice final : public Device {
 public:
  // `trace` is of the schedule that is performed, and has a whole step (schedule/trace_check.h); its first counts.
  EmulatedDevice(const schedule::Trace& trace, std::int64_t rank, const StopSign& stop);
  std::byte* allocate(std::int64_t bytes, const std::function<void()>& moved) override;
  std::int64_t element_bytes(schedule::DataType type) const override { return schedule::size_of(type); }
  double perform(const OpCall& call) override;

 private:
  const StopSign& stop_;
  std::vector<std::int64_t> duration_ns_;  // by op
  std::vector<std::unique_ptr<std::byte[]>> memory_;
};

}  // namespace orrery::runtime
