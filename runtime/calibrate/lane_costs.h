// What the executor adds to every op, and how much longer kernels take while the same rank's transfers run.
// From probes (probe_schedules.h); pure functions of their times, and what calls them.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/calibrate/probe_run.h"

namespace orrery::runtime {

// From the end of one kernel to the beginning of the next, median over steps of the mean in a step.
double op_overhead_seconds(const ProbeTimes& probe);
double measure_op_overhead(double seconds);

// Kernels of one name: how many lay wholly inside of transfers of their rank, how many wholly outside, and
// their medians.
struct Interference {
  std::string kernel;
  double beside_s = 0.0, apart_s = 0.0;  // 0: none did
  std::int64_t beside = 0, apart = 0;
  double factor() const { return beside_s > 0.0 && apart_s > 0.0 ? beside_s / apart_s : 1.0; }
};
struct Interferences {
  Interference product, addition;
};
Interferences interference_of(const ProbeTimes& probe);
Interferences measure_interference(std::int64_t ranks, double seconds);

}  // namespace orrery::runtime
