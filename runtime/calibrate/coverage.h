// What a calibration did not reach of what it was given, and whether other programs were in its way: a calibration that ends
// well may still know next to nothing of a scenario. Said last on stderr, and kept in the kernel table's notes, which
// `orrery validate` repeats.
#pragma once

#include <string>
#include <vector>

#include "runtime/calibrate/kernel_phase.h"
#include "runtime/calibrate/scenario_grid.h"
#include "runtime/calibrate/transfer_phase.h"

namespace orrery::runtime {

struct Coverage {
  std::size_t scenarios = 0;              // that were given
  std::vector<std::string> not_measured;  // of them: some kernels were never timed
  std::vector<std::string> too_large;     // of them, with the memory that a rank needs
  std::vector<std::string> messages;      // "all_reduce among 4" that they send and that were never timed
  double lost_core_share = 0.0;           // of the kernels' timings
};

Coverage coverage_of(const Grid& grid, const KernelPhase& kernels, const TransferPhase& transfers);

// A line each, for the kernel table's provenance; none where everything was measured on a quiet machine.
std::vector<std::string> notes_of(const Coverage& coverage);

// The same with what to do about it, for stderr.
std::string coverage_warnings(const Coverage& coverage, bool quick);

}  // namespace orrery::runtime
