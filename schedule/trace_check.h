// Whether a trace is of this schedule, and how many of its steps are whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/ir.h"
#include "schedule/trace.h"

namespace orrery::schedule {

// Throws InputError that says what differs: world, scenario, ops of a rank; or that a record names no op of
// its rank, or that a rank stands for one of another program. `path` and `scenario_path` are what the user named.
void require_trace_of(const Schedule& schedule, const Trace& trace,
                      const std::string& path, const std::string& scenario_path);

// Steps from the first kept one on, of which every rank has a record of every op. Fewer than `trace.steps`
// where the run was stopped. The trace is of the schedule.
std::int32_t whole_steps(const Schedule& schedule, const Trace& trace);

// Throws InputError where no step is whole.
void require_whole_step(const Schedule& schedule, const Trace& trace,
                        const std::string& path);

// How many ranks the records of `trace.ranks[i]` stand for.
std::vector<std::int64_t> ranks_stood_for(const Trace& trace);

}  // namespace orrery::schedule
