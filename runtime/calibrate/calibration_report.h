// What `calibrate` prints at its end, and what goes into the files as notes.
#pragma once

#include <string>

#include "hardware/provenance.h"
#include "runtime/calibrate/coverage.h"
#include "runtime/calibrate/findings.h"
#include "runtime/calibrate/hardware_files.h"
#include "runtime/calibrate/scenario_grid.h"

namespace orrery::runtime {

struct Visits {
  std::size_t workloads = 0, visited = 0;
  std::int64_t visits = 0;
  double uncertainty = 1.0;  // of a step's kernels, the median over workloads; 1: most were not reached
  Coverage coverage{};
};

// Sets the provenance of both tables: `from`, and what was noticed.
void add_notes(const Grid& grid, const Visits& visits, const hardware::Provenance& from,
               Calibration& calibration);

std::string calibration_report(const Calibration& calibration, const Visits& visits,
                               const std::string& directory);

}  // namespace orrery::runtime
