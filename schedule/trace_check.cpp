#include "schedule/trace_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/diagnostics.h"
#include "schedule/trace_ops.h"

namespace orrery::schedule {
namespace {

std::int64_t op_count(const Program& program) {
  return static_cast<std::int64_t>(traced_ops(program).size());
}

// Of the first rank of the trace, in its first step.
std::int64_t ops_of_first_step(const RankTrace& rank) {
  const std::vector<TraceRecord>& records = rank.records;
  return std::count_if(records.begin(), records.end(),
                       [&](const TraceRecord& r) { return r.step == records.front().step; });
}

std::string differences(const Schedule& schedule, const Trace& trace,
                        const std::string& scenario_path) {
  std::string text;
  const auto line = [&](const std::string& what, const auto& in_trace, const auto& here) {
    text += fmt::format("  {}: {} in the trace, {} in {}\n", what, in_trace, here, scenario_path);
  };
  if (trace.scenario != schedule.name) line("scenario", trace.scenario, schedule.name);
  if (trace.world != schedule.world) line("ranks", trace.world, schedule.world);
  if (!trace.ranks.empty() && trace.ranks.front().rank < schedule.world) {
    const RankTrace& rank = trace.ranks.front();
    const std::int64_t here = op_count(schedule.program_of(rank.rank)), there = ops_of_first_step(rank);
    if (here != there) line(fmt::format("ops of rank {} in a step", rank.rank), there, here);
  }
  if (!text.empty()) return text;
  return "  name, ranks and ops of a step are the same: the model's sizes, the batch, or the version of "
         "Orrery that "
         "compiled it differ\n";
}

std::vector<std::int64_t> op_counts(const Schedule& schedule) {
  std::vector<std::int64_t> counts;
  for (const Program& program : schedule.programs) counts.push_back(op_count(program));
  return counts;
}

std::int32_t whole_steps_of(const RankTrace& rank, std::int32_t first_step, std::int64_t ops) {
  const auto records = static_cast<std::int64_t>(rank.records.size());
  std::int32_t whole = 0;
  // Records are ordered, so a step is whole where its last op stands as far behind its first as it must.
  for (std::int64_t at = 0; at + ops <= records; at += ops, ++whole) {
    const TraceRecord& first = rank.records[static_cast<std::size_t>(at)];
    const TraceRecord& last = rank.records[static_cast<std::size_t>(at + ops - 1)];
    const std::int32_t step = first_step + whole;
    if (first.step != step || last.step != step || first.op != 0 || last.op + 1 != ops) break;
  }
  return whole;
}

}  // namespace

void require_trace_of(const Schedule& schedule, const Trace& trace,
                      const std::string& path, const std::string& scenario_path) {
  if (trace.fingerprint != fingerprint(schedule) || trace.world != schedule.world) {
    const std::string hint = trace.scenario_path.empty()
                                 ? ""
                                 : fmt::format("  hint: the trace was made from {}\n", trace.scenario_path);
    throw InputError(fmt::format("{}: error: this trace is of another schedule than {} compiles to\n{}{}",
                                 path, scenario_path, differences(schedule, trace, scenario_path), hint));
  }
  const std::vector<std::int64_t> counts = op_counts(schedule);
  for (const RankTrace& rank : trace.ranks) {
    const std::int64_t ops = counts[static_cast<std::size_t>(schedule.program_group.index(rank.rank))];
    for (const TraceRecord& r : rank.records)
      if (r.op >= ops)
        throw InputError(fmt::format("{}: error: rank {} has a record of op {} in step {}, and only {} ops\n",
                                     path, rank.rank, r.op, r.step, ops));
  }
  for (std::size_t rank = 0; rank < trace.representative.size(); ++rank) {
    const std::int64_t other = trace.representative[rank];
    const auto program = [&](std::int64_t r) { return schedule.program_group.index(r); };
    if (program(static_cast<std::int64_t>(rank)) != program(other))
      throw InputError(fmt::format("{}: error: rank {} cannot stand for rank {}, whose program is another\n", path,
                                   other, rank));
  }
}

std::int32_t whole_steps(const Schedule& schedule, const Trace& trace) {
  const std::vector<std::int64_t> counts = op_counts(schedule);
  std::int32_t whole = trace.steps;
  if (trace.representative.empty() && static_cast<std::int64_t>(trace.ranks.size()) < trace.world) return 0;
  for (const RankTrace& rank : trace.ranks) {
    const std::int64_t ops = counts[static_cast<std::size_t>(schedule.program_group.index(rank.rank))];
    if (ops > 0) whole = std::min(whole, whole_steps_of(rank, trace.first_step, ops));
  }
  return whole;
}

void require_whole_step(const Schedule& schedule, const Trace& trace,
                        const std::string& path) {
  if (whole_steps(schedule, trace) > 0) return;
  throw InputError(fmt::format(
      "{}: error: no step of this trace has a record of every op of every rank\n  hint: {}\n", path,
      trace.complete ? "let the run keep at least one step"
                     : "the run was stopped before its first kept step ended"));
}

std::vector<std::int64_t> ranks_stood_for(const Trace& trace) {
  std::vector<std::int64_t> weights(trace.ranks.size(), trace.representative.empty() ? 1 : 0);
  for (const std::int64_t rank : trace.representative) {
    const auto at =
        std::lower_bound(trace.ranks.begin(), trace.ranks.end(), rank,
                         [](const RankTrace& r, std::int64_t wanted) { return r.rank < wanted; });
    CHECK(at != trace.ranks.end() && at->rank == rank, rank);
    ++weights[static_cast<std::size_t>(at - trace.ranks.begin())];
  }
  return weights;
}

}  // namespace orrery::schedule
