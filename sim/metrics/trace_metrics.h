// Where the time of the steps in a Trace goes, from its intervals alone: one implementation for simulated and
// measured ones.
//
//   step           schedule/trace_steps.h: from its first op to the next step's; the step time is the median
//   waterfall      each instant of a rank goes to the first that applies (DESIGN.md section 6;
//                  engine/account.h): compute, exposed transfers by group, copies, host (an op was ready and
//                  did not begin, or the CPU optimizer runs), bubble (a message between pipeline stages was
//                  ready and waited for its other side), other wait. Shares are averaged over steps and
//                  ranks, and sum to 1.
//   communication  total: a transfer is active on the rank; exposed: and no compute runs there.
//
// An interval belongs to the steps that it overlaps. What is left over of a step before the first kept one is
// not there, so from three steps on the shares leave out the first.
// Cost: sorting the intervals of each rank.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/ir.h"
#include "schedule/trace.h"
#include "sim/engine/simulation.h"

namespace orrery::sim {

// Shares of a step.
struct TimeShares {
  std::array<double, kShares> waterfall{};
  std::array<double, schedule::kGroupKinds> communication{};
  double communication_any = 0.0;  // union over all groups

  double exposed() const;
  double of(Share share) const { return waterfall[static_cast<std::size_t>(share)]; }
  void add(const TimeShares& other, double weight);
};

struct RankShares {
  std::int64_t rank = 0;
  TimeShares shares;
};

struct TraceMetrics {
  double step_time_s = 0.0;
  std::vector<double> step_times_s;  // what it is the median of
  double last_step_span_s = 0.0;
  TimeShares shares;              // averaged over ranks
  std::vector<RankShares> ranks;  // as in the trace
};

// The trace is of the schedule and has a whole step (schedule/trace_check.h).
TraceMetrics trace_metrics(const schedule::Schedule& schedule, const schedule::Trace& trace);

}  // namespace orrery::sim
