// Times the kernels of a workload by performing its steps. The seam between the phase that decides what is
// performed for how long (kernel_phase.h) and threads on a machine (walk_measurer.h); tests put a law in its
// place.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/calibrate/workload.h"

namespace orrery::runtime {

struct KernelTiming {
  std::uint32_t program = 0;  // of the schedule
  std::uint32_t op = 0;       // its place in program.ops
  double seconds = 0.0;
  bool busy = false;  // all ranks of the machine were running kernels
  bool disturbed = false;
};

struct VisitLength {
  double busy_s = 0.3, alone_s = 0.15;  // at least one step each, after one that is not measured
};

class StepMeasurer {
 public:
  virtual ~StepMeasurer() = default;
  // Fewer timings where it was asked to stop.
  virtual std::vector<KernelTiming> visit(const Workload& workload, const VisitLength& length) = 0;
};

}  // namespace orrery::runtime
