// From scenario files to what is performed: each scenario itself, cut down to the fewest layers and
// microbatches that still have all of its kernels and do not fit into the caches, and the variations around
// it that add kernels. Which collectives and messages the scenarios need, among how many ranks, is collected
// on the way.
//
// A scenario for this machine names a cluster file that calibration is about to write. Where that file is not
// there yet, a CPU machine of `ranks` ranks stands in; nothing that is measured depends on it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hardware/transfer_table.h"
#include "runtime/calibrate/workload.h"

namespace orrery::runtime {

struct GridRequest {
  std::vector<std::string> files;  // none: three small models (default_scenarios.h)
  std::vector<std::string> sets;   // "path=value", of each
  std::int64_t ranks = 1;          // of default scenarios, and where a cluster is not known
  std::int64_t cache_bytes = 0;    // of a rank: what is cut down keeps this much memory
  std::int64_t most_bytes = 0;     // of a rank: what needs more is left out
};

struct Grid {
  std::vector<Workload> workloads;  // in the order of what they are worth; the scenarios themselves come first
  std::int64_t world = 1;           // of the largest scenario
  std::set<std::pair<hardware::TransferOperation, std::int64_t>>
      transfers;                   // of the scenarios: operation, ranks
  std::uint64_t fingerprint = 0;   // of all schedules
  std::vector<std::string> notes;  // what was left out, and why
  std::vector<std::string> too_large;  // the scenarios among it, each with the memory that it needs
};

// Throws InputError, with the errors of all files.
Grid make_grid(const GridRequest& request);

}  // namespace orrery::runtime
