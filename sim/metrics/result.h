// What is known about one training step after it was simulated: the numbers that `run` prints and `--json` writes.
// Definitions: DESIGN of docs/reference/result.md; every one of them is in SI units, and means what its name says.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/units.h"
#include "scenarios/scenario.h"
#include "schedule/memory.h"
#include "sim/engine/simulation.h"

namespace orrery::sim {

enum class Verdict : std::uint8_t { fits, risky, does_not_fit };  // risky: > 95 % of the capacity

struct Interval {
  double value = 0.0, low = 0.0, high = 0.0;  // 80 % interval
};

// One named part of a rank's memory that is not in the schedule: context, communicators, fragmentation.
struct FixedMemory {
  std::string name;
  Bytes bytes;
  std::string why;
};

struct StageResult {  // one distinct program
  std::string name;
  std::int64_t representative = 0, ranks = 1;
  schedule::MemoryPeak memory;
  std::vector<FixedMemory> fixed;
  Bytes total;  // peak + fixed
  std::array<double, kShares> waterfall_s{};
};

struct Result {
  std::string scenario;
  Verdict verdict = Verdict::fits;
  Interval step_time_s, peak_memory_bytes;
  double samples_per_s = 0.0, tokens_per_s = 0.0, tokens_per_s_per_gpu = 0.0;
  double model_flops = 0.0, hardware_flops = 0.0;  // of one step, all ranks; hardware adds recomputation
  double model_tflops_per_gpu = 0.0, hardware_tflops_per_gpu = 0.0;
  double mfu = 0.0, hfu = 0.0;  // of the dense peak of the precision in use
  double communication_total = 0.0, communication_exposed = 0.0;         // shares of the step, averaged over ranks
  std::array<double, 4> communication_by_group{}, exposed_by_group{};    // tensor, data, pipe, other
  double bubble_fraction = 0.0, gpu_busy = 0.0;
  std::array<double, kShares> waterfall_s{};                             // averaged over ranks; sums to the step
  std::vector<StageResult> stages;
  std::size_t worst_stage = 0;
  Bytes capacity, host_bytes, host_capacity;
  double measured_fraction = 0.0, interpolated_fraction = 0.0, modelled_fraction = 0.0;  // of busy time
  std::vector<Diagnostic> warnings;  // each with what to try in `hint`
  // To N tokens (scenario training.tokens), when asked.
  double steps_to_tokens = 0.0, hours_to_tokens = 0.0, gpu_hours_to_tokens = 0.0;
  std::uint64_t fingerprint = 0, events = 0;
  double wall_s = 0.0;
  std::int64_t peak_rss_bytes = 0;
};

}  // namespace orrery::sim
