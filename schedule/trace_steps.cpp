#include "schedule/trace_steps.h"

#include <algorithm>

#include "base/check.h"
#include "schedule/trace_check.h"
#include "schedule/trace_ops.h"

namespace orrery::schedule {

StepRecords step_records(const Program& program) {
  const std::vector<TracedOp> ops = traced_ops(program);
  CHECK(!ops.empty(), program.name);
  const auto compute = std::find_if(ops.begin(), ops.end(), [&](const TracedOp& op) {
    return program.ops[op.op].stream == Stream::compute;
  });
  return {.count = ops.size(),
          .first = static_cast<std::size_t>(compute == ops.end() ? 0 : compute - ops.begin())};
}

std::vector<std::int64_t> step_bounds(const StepRecords& of_step, const RankTrace& rank, std::int32_t steps) {
  const auto whole = static_cast<std::size_t>(steps);
  CHECK(whole > 0 && whole * of_step.count <= rank.records.size(), rank.rank, steps);
  std::vector<std::int64_t> bounds;
  for (std::size_t step = 0; step < whole; ++step)
    bounds.push_back(rank.records[step * of_step.count + of_step.first].begin_ns);
  std::int64_t end = bounds.back();
  for (std::size_t i = (whole - 1) * of_step.count; i < whole * of_step.count; ++i)
    end = std::max(end, rank.records[i].end_ns);
  bounds.push_back(end);
  return bounds;
}

StepTimes step_times(const Schedule& schedule, const Trace& trace) {
  StepTimes times;
  const std::int32_t steps = whole_steps(schedule, trace);
  if (steps <= 0 || trace.ranks.empty()) return times;
  std::vector<StepRecords> of_program;
  for (const Program& program : schedule.programs) of_program.push_back(step_records(program));
  const std::vector<std::int64_t> weights = ranks_stood_for(trace);
  times.seconds.assign(static_cast<std::size_t>(steps), 0.0);
  for (std::size_t i = 0; i < trace.ranks.size(); ++i) {
    const RankTrace& rank = trace.ranks[i];
    const double of_world = static_cast<double>(weights[i]) / static_cast<double>(trace.world);
    const auto program = static_cast<std::size_t>(schedule.program_group.index(rank.rank));
    const std::vector<std::int64_t> bounds = step_bounds(of_program[program], rank, steps);
    for (std::size_t step = 0; step < times.seconds.size(); ++step)
      times.seconds[step] += of_world * (static_cast<double>(bounds[step + 1] - bounds[step]) * 1e-9);
  }
  times.last_span_s = times.seconds.back();
  if (times.seconds.size() > 1) times.seconds.pop_back();
  return times;
}

}  // namespace orrery::schedule
