// Two ranks and a trace of theirs in which every time can be counted on the fingers.
#pragma once

#include <cstdint>

#include "schedule/ir.h"
#include "schedule/trace.h"

namespace orrery::schedule::testing {

// Two stages: the first computes 40 and sends for 10; the second waits for it, computes 30, and receives
// beside nothing.
inline constexpr const char* kTwoStages = R"(world 2
group world stride 1 size 2
group tensor stride 1 size 1
group data stride 1 size 1
group pipe stride 1 size 2
program first {
  buffer a bf16[4] persistent
  fill y=a record(a)
  send x:a to +1 on pipe_send_forward wait(a)
}
program second {
  buffer a bf16[4] persistent
  recv y=a from -1 on pipe_recv_forward record(a)
  add x:a y+=a wait(a)
}
)";

inline Trace two_stages_trace(const Schedule& schedule, std::int32_t steps) {
  Trace t{
      .fingerprint = fingerprint(schedule), .world = 2, .first_step = 0, .steps = steps};
  t.ranks = {{.rank = 0}, {.rank = 1}};
  for (std::int32_t step = 0; step < steps; ++step) {
    const std::int64_t at = 100 * step;
    t.ranks[0].records.push_back({step, 0, at, at, at + 40});
    t.ranks[0].records.push_back({step, 1, at + 40, at + 45, at + 55});
    t.ranks[1].records.push_back({step, 0, at + 25, at + 45, at + 55});
    t.ranks[1].records.push_back({step, 1, at + 55, at + 60, at + 90});
  }
  return t;
}

}  // namespace orrery::schedule::testing
