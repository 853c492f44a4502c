// The numbers of a machine that are neither kernels nor messages: its ceilings, what an op costs beyond its
// kernel, and how much transfers slow the kernels beside them.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/calibrate/ceilings.h"
#include "runtime/calibrate/journal.h"
#include "runtime/calibrate/progress.h"

namespace orrery::runtime {

struct MachineNumbers {
  Ceilings ceilings;
  double op_overhead_s = 0.0;
  double product_beside = 1.0,
         addition_beside = 1.0;  // a kernel's time beside a transfer over its time apart; 1: one rank
};

// Of the journal, where it has them; else measured, in about `seconds`, and appended.
MachineNumbers machine_numbers(std::int64_t ranks, double seconds, Journal& journal,
                               const std::atomic<bool>& stop, Progress& progress);

}  // namespace orrery::runtime
