// The engine's rules, performed the slow way: every rank, every op of every step in one list, everything
// looked at again at every instant. No classes, no unrolled waits, no queue, no components. For differential
// tests.
#pragma once

#include "sim/engine/simulation.h"

namespace orrery::sim::test {

struct NaiveOp {
  std::int64_t rank = 0;
  int step = 0;
  std::uint32_t host = 0;  // position in the step
  std::int64_t start = -1, end = -1;
};

// Every op that was performed until the last rank ended `steps` steps; ranks go on into the next one, as in
// the engine.
std::vector<NaiveOp> naive_simulate(const schedule::Schedule& schedule, const hardware::Cluster& cluster,
                                    const KernelCost& cost, const NetworkModel& network, int steps,
                                    bool share);

}  // namespace orrery::sim::test
