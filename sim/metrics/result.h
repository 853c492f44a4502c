// What is known about one training step after it was simulated: the numbers that `run` prints and `--json`
// writes. docs/reference/result.md defines each of them; all are in SI units, and mean what their names say.
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

// One kind of time that the step is made of, and how sure we are of it (docs/models/confidence.md).
struct UncertainPart {
  std::string name;  // "GEMM", "transfers between data-parallel ranks", ...
  Origin origin = Origin::modelled;
  double share = 0.0;                    // of the step
  double log_low = 0.0, log_high = 0.0;  // ln of the 80 % interval of one such time
  std::string source;                    // which measurements
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
  double mfu = 0.0, hfu = 0.0;                                    // of the dense peak of the precision in use
  double communication_total = 0.0, communication_exposed = 0.0;  // shares of the step, averaged over ranks
  std::array<double, schedule::kGroupKinds> communication_by_group{}, exposed_by_group{};  // by schedule::GroupKind
  double bubble_fraction = 0.0, gpu_busy = 0.0;
  double compute_slowed = 0.0;  // share of the step: what kernels take longer because transfers take SMs
  std::array<double, kShares> waterfall_s{};  // averaged over ranks; sums to the step
  std::vector<StageResult> stages;
  std::size_t worst_stage = 0;
  Bytes capacity, host_bytes, host_capacity;
  Verdict device_verdict = Verdict::fits, host_verdict = Verdict::fits;  // `verdict` is the worse of the two
  double measured_fraction = 0.0, interpolated_fraction = 0.0, modelled_fraction = 0.0;  // of busy time
  std::vector<UncertainPart> parts;                // what the interval of the step time is made of
  double tokens_per_step = 0.0, dense_peak = 0.0;  // FLOP/s of one GPU, in the precision in use
  std::vector<Diagnostic> warnings;                // each with what to try in `hint`
  // To N tokens (scenario training.tokens), when asked.
  double steps_to_tokens = 0.0, hours_to_tokens = 0.0, gpu_hours_to_tokens = 0.0;
  std::int64_t microbatches_simulated = 0;  // of training.microbatches; the others are known from the period
  bool exact = true;                        // false: they are averaged, because the loop has no exact period
  std::uint64_t fingerprint = 0, events = 0;
  double wall_s = 0.0;
  std::int64_t peak_rss_bytes = 0;
};

}  // namespace orrery::sim
