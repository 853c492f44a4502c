// Simulates few microbatches and answers for many. The main loops over microbatches are cut to k, k + d and k + 2 d
// iterations; the step is taken to be periodic if every quantity (step time, every share of every rank, loop ends)
// grows by exactly the same from k to k + d as from k + d to k + 2 d, and nothing is still catching up:
//
//  - the last main loop ends on no stream later, from cut to cut, than the step does; in earlier ones no stream falls
//    behind the compute stream of its rank; and no host needs more time to issue an iteration than an iteration
//    takes. Whatever grows faster than the step would rule it in the end, however far behind it is now.
//
// Then each quantity is that at k + 2 d plus the growth times the iterations left. Otherwise k and d double; where
// three cuts would cost more than the whole, the whole is simulated. All in integers: the answer equals the full run.
#pragma once

#include <functional>

#include "sim/engine/engine.h"

namespace orrery::sim::engine {

struct SteadyRun {
  Run run;                                    // of the last simulation
  std::int64_t step_time = 0;                 // ps
  std::vector<std::array<std::int64_t, kShares>> shares;          // [actor]
  std::vector<std::array<std::int64_t, 4>> communication;         // [actor]
  std::vector<std::int64_t> communication_any, compute_alone;     // [actor]
  std::int64_t microbatches_simulated = 0;
};

// One simulation with every main loop `skip` iterations shorter.
struct CutRun {
  Run run;
  std::vector<std::int64_t> compute_alone;  // [actor]
  std::vector<std::int64_t> host_time;      // [actor], to issue a step
};
using Simulate = std::function<CutRun(std::int64_t skip)>;

SteadyRun simulate_steadily(const Cut& cut, std::int64_t microbatches, bool extrapolate, const Simulate& simulate);

}  // namespace orrery::sim::engine
