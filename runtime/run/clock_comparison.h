// What other machines' clocks show when rank 0's shows something else. The run's clock (now_ns) is CLOCK_MONOTONIC: one clock on
// one machine, counted from its own start on each, whether or not their times of day are synchronised.
//
// A message goes to the other rank and comes back with its time: theirs - (sent + returned) / 2 is how much theirs is ahead,
// wrong by half the trip at most (Cristian 1989, "Probabilistic clock synchronization"). The shortest of 100 trips counts.
// Clocks drift apart by some microseconds a second; so that is done at the start and at the end of a run, and in between the
// difference is taken to change evenly.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/comm/communicator.h"

namespace orrery::runtime {

struct ClockReading {
  std::int64_t at = 0;           // on rank 0's clock, ns
  std::int64_t ahead = 0;        // by which the other shows more
  std::int64_t uncertainty = 0;  // of `ahead`
};

class ClockComparison {
 public:
  // All ranks make it at the same time; `others`, ascending: whose clocks are compared with rank 0's.
  ClockComparison(World& world, std::vector<int> others, std::function<std::int64_t()> clock);
  // At the same time on rank 0, which gets a reading of each of the others, and on those; other ranks need not.
  std::vector<ClockReading> compare();

 private:
  void transfer(CommCall call);
  void answer();
  ClockReading ask(int other);

  World& world_;
  std::vector<int> others_;
  std::function<std::int64_t()> clock_;
  std::unique_ptr<Communicator> communicator_;  // null where there are no others
  std::uint64_t round_ = 0;                     // of all comparisons
};

// On rank 0's clock, a time that the other's has shown.
std::int64_t on_rank_0(std::int64_t theirs, const ClockReading& start, const ClockReading& end);

}  // namespace orrery::runtime
