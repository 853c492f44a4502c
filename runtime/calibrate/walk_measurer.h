// Times kernels by walking steps (solo_walk.h): first on `ranks` threads at once, which is how they run in a
// step, then one rank of each program alone. The first step of each is not counted. Ranks that are through
// walk on until the last one is, so that whoever is measured as busy was.
#pragma once

#include <atomic>

#include "runtime/calibrate/step_measurer.h"

namespace orrery::runtime {

class WalkMeasurer final : public StepMeasurer {
 public:
  WalkMeasurer(std::int64_t ranks, const std::atomic<bool>& stop) : ranks_(ranks), stop_(stop) {}
  std::vector<KernelTiming> visit(const Workload& workload, const VisitLength& length) override;

 private:
  std::vector<KernelTiming> walk(const schedule::Schedule& schedule, const std::vector<std::int64_t>& ranks,
                                 double seconds, bool busy) const;

  std::int64_t ranks_;
  const std::atomic<bool>& stop_;
};

}  // namespace orrery::runtime
