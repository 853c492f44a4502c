// Measured kernel times of one device (a GPU, or a rank's share of a CPU machine), as `orrery calibrate`
// writes them: for each kernel (its name says what changes its code, schedule/kernel_key.h) the sizes that
// were timed. Plain data; sim/cost/table_cost.h looks times up and interpolates.
// docs/reference/kernel-table.md describes the file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/json.h"
#include "base/units.h"
#include "hardware/provenance.h"

namespace orrery::hardware {

inline constexpr std::size_t kMaxTableDims = 5;
inline constexpr double kMostContention = 1000.0;  // times as long with busy ranks; beyond that it is no measurement

// One size. Times are of one call, in seconds. What was warm and who else ran is as it was measured: `orrery-rt
// calibrate` times kernels inside whole steps of a scenario, so that a call finds in the caches what it finds there in a
// run.
struct KernelPoint {
  std::array<std::int64_t, kMaxTableDims> dims{};  // as many as the kernel has, at least 1 each; the rest 0
  double flops = 0.0, bytes = 0.0;                 // what the kernel has to do (schedule::KernelKey)
  double seconds = 0.0;                            // median, with the rank alone on its node
  double p10 = 0.0, p90 = 0.0;                     // of the samples, p10 <= seconds <= p90
  // Median while `busy_ranks` ranks of the node run (calibrate: the same step each, not in step with each other); 0: not
  // measured.
  double busy_seconds = 0.0;
  std::int64_t samples = 0;
  std::int64_t outliers = 0;  // of the samples: left out as disturbed
  bool operator==(const KernelPoint&) const = default;
};

struct MeasuredKernel {
  std::string name;               // "gemm_tn.bias.fp32"
  std::vector<std::string> dims;  // what the dims of its points are: "m", "n", "k"
  std::vector<KernelPoint> points;
  Place place;  // in the file; not compared
};
bool operator==(const MeasuredKernel& a, const MeasuredKernel& b);

// How much longer a kernel takes while all `busy_ranks` ranks of its node run, where its points do not say: 1 to
// kMostContention.
struct Contention {
  double compute_bound = 1.0;  // matrix products and attention
  double memory_bound = 1.0;   // everything else
  bool operator==(const Contention&) const = default;
};

struct KernelTable {
  Provenance provenance;
  Duration op_overhead;  // the lane's own time for each op: taking it up, marking it done
  std::int64_t busy_ranks = 1;
  Contention contention;
  std::vector<MeasuredKernel> kernels;  // names differ
  bool operator==(const KernelTable&) const = default;
};

// Reports what is missing, out of range, unknown or given twice, each at its place.
KernelTable read_kernel_table(const Json& json, Diagnostics& diagnostics);

// The file: one line a point. Reading it back gives the same table.
std::string kernel_table_json(const KernelTable& table);

}  // namespace orrery::hardware
