// What the answer itself cost: wall time and memory of this process. Talk about the program, not about the
// training run; it is the only part of a result that differs from run to run.
#pragma once

#include <chrono>

#include "sim/metrics/result.h"

namespace orrery::sim {

// Fills Result::wall_s (since `begin`) and Result::peak_rss_bytes (of this process).
void fill_run_cost(Result& result, std::chrono::steady_clock::time_point begin);

}  // namespace orrery::sim
