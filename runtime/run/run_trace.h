// The trace of a whole run, from those of its ranks.
#pragma once

#include <string>
#include <vector>

#include "runtime/run/run_job.h"
#include "schedule/trace.h"

namespace orrery::runtime {

// All but the records and losses: whose run it is, and `machine`: where it ran, this machine's words and then `ranks_are`.
schedule::Trace empty_trace(const RunJob& job, const std::string& ranks_are);

// Fills it: the steps that every rank has kept and ended, times from the first of them on, begins from the meetings' sides.
void merge_ranks(const RunJob& job, std::vector<schedule::RankTrace> ranks, std::vector<double> losses, schedule::Trace& trace);

}  // namespace orrery::runtime
