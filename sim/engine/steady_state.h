// Simulates few microbatches and answers for many. The main loops over microbatches are cut to k, k + d and k
// + 2 d iterations, and then to about twice as many. The step is periodic if
//
//  - every quantity (step time, every share of every rank, when every stream ends every loop) lies on one
//  line through
//    all four, in integers;
//  - the streams of a rank keep step: each of its loops ends equally later on all of them, the last one as
//  much later
//    as the whole step. A stream that grows faster would rule the step in the end, however far behind it is
//    now; one that grows slower slides past the others, and what they overlap never repeats;
//  - no host takes longer to issue an iteration of a loop than the loop grows by, so no loop lives on a lead;
//  - no stream runs further and further ahead into the next step.
//
// Then the rest is a multiplication, and equals the full run. Otherwise k and d double (d: the period may be
// several iterations). Where that gets too dear, everything is simulated; and where that is too dear as well
// (loops slowed by one another need not be periodic at all), the line through two long cuts is the answer,
// and is marked as not exact.
#pragma once

#include <array>
#include <functional>

#include "sim/engine/engine.h"

namespace orrery::sim::engine {

struct SteadyRun {
  Run run;                                                     // of the last simulation
  std::int64_t step_time = 0;                                  // ps
  std::vector<std::array<std::int64_t, kShares>> shares;       // [actor]
  std::vector<std::array<std::int64_t, schedule::kGroupKinds>> communication;  // [actor]
  std::vector<std::int64_t> communication_any, compute_alone;  // [actor]
  std::int64_t skipped = 0;                                    // iterations that no simulation saw
  bool exact = true;                                           // equal to the full run
};

// One simulation with every main loop `skip` iterations shorter.
struct CutRun {
  Run run;
  std::vector<std::int64_t> compute_alone;               // [actor], ps a step
  std::vector<std::int64_t> host_time;                   // [actor], ps to issue a step
  std::vector<std::vector<std::int64_t>> host_of_loops;  // [actor][main loop], ps to issue an iteration
};
using Simulate = std::function<CutRun(std::int64_t skip)>;

// `affordable_events`: see SimulationOptions.
SteadyRun simulate_steadily(const Cut& cut, bool extrapolate, std::uint64_t affordable_events,
                            const Simulate& simulate);

}  // namespace orrery::sim::engine
