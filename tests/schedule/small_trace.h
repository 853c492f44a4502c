// A Trace of a small pipeline, as a run would write it: every op of every rank and step, times drawn from a
// seed.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "base/diagnostics.h"
#include "schedule/ir.h"
#include "schedule/text.h"
#include "schedule/trace.h"
#include "schedule/trace_ops.h"

namespace orrery::schedule::testing {

inline Schedule parsed_schedule(const std::string& text) {
  Diagnostics diagnostics;
  Schedule schedule =
      parse(std::make_shared<const SourceFile>(SourceFile{"test.schedule", text}), diagnostics);
  diagnostics.throw_if_errors();
  return schedule;
}

inline Trace made_up_trace(const Schedule& schedule, std::int32_t first_step, std::int32_t steps,
                           unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random()) % n; };
  Trace trace{.origin = TraceOrigin::measured,
              .scenario = schedule.name,
              .scenario_path = "here/there.json",
              .machine = "a \"quoted\" machine, 2 cores",
              .fingerprint = fingerprint(schedule),
              .world = schedule.world,
              .first_step = first_step,
              .steps = steps,
              .losses = {3.5, 2.25, 0.1}};
  for (std::int64_t rank = 0; rank < schedule.world; ++rank) {
    RankTrace of{.rank = rank,
                 .records = {},
                 .peak_live_bytes = 4096 + rank,
                 .peak_host_bytes = 512,
                 .arena_bytes = 8192};
    const auto ops = static_cast<std::uint32_t>(traced_ops(schedule.program_of(rank)).size());
    std::int64_t now = -below(1000);
    for (std::int32_t step = first_step; step < first_step + steps; ++step)
      for (std::uint32_t op = 0; op < ops; ++op) {
        const std::int64_t ready = now + below(50), begin = ready + (below(3) == 0 ? below(900) : 0);
        now = begin + below(100'000);
        of.records.push_back({step, op, ready, begin, now});
      }
    trace.ranks.push_back(std::move(of));
  }
  return trace;
}

}  // namespace orrery::schedule::testing
