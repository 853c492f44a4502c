#include "runtime/run/run_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/machine/machine.h"
#include "schedule/trace_meetings.h"

namespace orrery::runtime {
namespace {

void keep_common_steps(std::vector<schedule::RankTrace>& ranks) {
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  for (const schedule::RankTrace& rank : ranks)
    end = std::min<std::int64_t>(end, rank.records.empty() ? 0 : rank.records.back().step + 1);
  for (schedule::RankTrace& rank : ranks)
    std::erase_if(rank.records, [&](const schedule::TraceRecord& r) { return r.step >= end; });
}

// 0 is when the first op of all was ready.
void begin_at_zero(std::vector<schedule::RankTrace>& ranks) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const schedule::RankTrace& rank : ranks)
    for (const schedule::TraceRecord& r : rank.records) first = std::min(first, r.ready_ns > 0 ? r.ready_ns : r.begin_ns);
  for (schedule::RankTrace& rank : ranks)
    for (schedule::TraceRecord& r : rank.records) {
      r.begin_ns -= first;
      r.end_ns -= first;
      r.ready_ns = std::max<std::int64_t>(0, r.ready_ns - first);
    }
}

}  // namespace

schedule::Trace empty_trace(const RunJob& job, const std::string& ranks_are) {
  schedule::Trace trace;
  trace.origin = job.options.emulate != nullptr ? schedule::TraceOrigin::emulated : schedule::TraceOrigin::measured;
  trace.scenario = job.schedule->name;
  trace.machine = fmt::format("{}, {}", words(this_machine()), ranks_are);
  trace.fingerprint = job.fingerprint;
  trace.world = job.schedule->world;
  return trace;
}

void merge_ranks(const RunJob& job, std::vector<schedule::RankTrace> ranks, std::vector<double> losses, schedule::Trace& trace) {
  keep_common_steps(ranks);
  if (!ranks.empty() && !ranks.front().records.empty()) {
    trace.first_step = ranks.front().records.front().step;
    trace.steps = ranks.front().records.back().step + 1 - trace.first_step;
  }
  trace.losses = std::move(losses);
  trace.complete = static_cast<std::int64_t>(trace.losses.size()) >= job.options.steps;
  begin_at_zero(ranks);
  trace.ranks = std::move(ranks);
  schedule::fill_begins(*job.schedule, trace);
}

}  // namespace orrery::runtime
