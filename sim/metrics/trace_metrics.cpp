#include "sim/metrics/trace_metrics.h"

#include <algorithm>
#include <span>

#include "base/check.h"
#include "base/quantile.h"
#include "schedule/trace_check.h"
#include "schedule/trace_ops.h"
#include "schedule/trace_steps.h"
#include "sim/engine/account.h"

namespace orrery::sim {
namespace {

using schedule::Op;
using schedule::OpKind;

constexpr unsigned kNothing = ~0U;

// What an op counts as while it is ready and has not begun, and while it runs.
struct Counts {
  unsigned waiting = kNothing, running = kNothing;
};

unsigned share(Share s) { return static_cast<unsigned>(s); }

// Joins ranks of different programs.
bool is_across(const schedule::Schedule& schedule, std::int64_t rank, const Op& op) {
  const schedule::Group& group = schedule.groups[op.group];
  const auto program = [&](std::int64_t member) { return schedule.program_group.index(member); };
  if (schedule::is_point_to_point(op.kind)) {
    const std::int64_t peer = ((group.index(rank) + op.peer) % group.size + group.size) % group.size;
    return program(group.member(rank, peer)) != program(rank);
  }
  for (std::int64_t i = 0; i < group.size; ++i)
    if (program(group.member(rank, i)) != program(rank)) return true;
  return false;
}

Counts counts_of(const schedule::Schedule& schedule, std::int64_t rank, const Op& op) {
  if (schedule::is_communication(op.kind)) {
    const schedule::GroupKind group = schedule::kind_of_group(schedule, op.group);
    Counts counts{.running = share(Share::exposed_tensor) + static_cast<unsigned>(group)};
    if (is_across(schedule, rank, op))
      counts.waiting = engine::kBubble;
    else if (engine::holds_computation(group))
      counts.waiting = engine::kHeldUp;
    return counts;
  }
  if (schedule::is_copy(op.kind)) return {share(Share::host), share(Share::copy)};
  if (op.kind == OpKind::cpu_adam) return {share(Share::host), share(Share::host)};
  if (op.kind == OpKind::host_wait) return {};  // nothing runs; what the host does then is on other streams
  return {share(Share::host), share(Share::compute)};
}

struct Change {
  std::int64_t at = 0;
  unsigned what = 0;
  bool begins = false;
};

// One rank's records, as steps.
class RankTimes {
 public:
  RankTimes(const schedule::Schedule& schedule, const schedule::RankTrace& trace, std::int32_t steps) {
    const schedule::Program& program = schedule.program_of(trace.rank);
    const std::vector<schedule::TracedOp> ops = schedule::traced_ops(program);
    std::vector<Counts> of_op;
    for (const Op& op : program.ops) of_op.push_back(counts_of(schedule, trace.rank, op));
    boundaries_ = schedule::step_bounds(schedule::step_records(program), trace, steps);
    for (const schedule::TraceRecord& r : trace.records) {
      const Counts& counts = of_op[ops[r.op].op];
      add(counts.waiting, r.ready_ns, r.begin_ns);
      add(counts.running, r.begin_ns, r.end_ns);
    }
    std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  }

  // Of each step.
  std::vector<TimeShares> shares() const {
    std::vector<TimeShares> all;
    engine::Account account;
    auto next = changes_.begin();
    const auto advance = [&](std::int64_t until) {
      for (; next != changes_.end() && next->at < until; ++next)
        next->begins ? account.add(next->at, next->what) : account.remove(next->at, next->what);
    };
    for (std::size_t step = 0; step + 1 < boundaries_.size(); ++step) {
      advance(boundaries_[step]);
      account.restart(boundaries_[step]);
      advance(boundaries_[step + 1]);
      account.close(boundaries_[step + 1]);
      all.push_back(shares_of(account, boundaries_[step + 1] - boundaries_[step]));
    }
    return all;
  }

 private:
  void add(unsigned what, std::int64_t begin, std::int64_t end) {
    if (what == kNothing || begin >= end) return;
    changes_.push_back({begin, what, true});
    changes_.push_back({end, what, false});
  }

  static TimeShares shares_of(const engine::Account& account, std::int64_t step) {
    TimeShares s;
    if (step <= 0) return s;
    const double whole = static_cast<double>(step);
    for (std::size_t i = 0; i < kShares; ++i)
      s.waterfall[i] = static_cast<double>(account.shares()[i]) / whole;
    for (std::size_t g = 0; g < schedule::kGroupKinds; ++g)
      s.communication[g] = static_cast<double>(account.communication()[g]) / whole;
    s.communication_any = static_cast<double>(account.communication_any()) / whole;
    return s;
  }

  std::vector<std::int64_t> boundaries_;  // steps + 1
  std::vector<Change> changes_;
};

// The steps whose shares are averaged: those with a next step, without the first where others are left.
std::span<const TimeShares> averaged(const std::vector<TimeShares>& steps) {
  const std::span<const TimeShares> all(steps);
  if (all.size() == 1) return all;
  return all.size() == 2 ? all.first(1) : all.subspan(1, all.size() - 2);
}

}  // namespace

double TimeShares::exposed() const {
  double sum = 0.0;
  for (std::size_t g = 0; g < schedule::kGroupKinds; ++g)
    sum += waterfall[static_cast<std::size_t>(Share::exposed_tensor) + g];
  return sum;
}

void TimeShares::add(const TimeShares& other, double weight) {
  for (std::size_t i = 0; i < kShares; ++i) waterfall[i] += weight * other.waterfall[i];
  for (std::size_t g = 0; g < schedule::kGroupKinds; ++g) communication[g] += weight * other.communication[g];
  communication_any += weight * other.communication_any;
}

TraceMetrics trace_metrics(const schedule::Schedule& schedule, const schedule::Trace& trace) {
  const std::int32_t steps = whole_steps(schedule, trace);
  CHECK(steps > 0, trace.scenario, trace.steps);
  const std::vector<std::int64_t> weights = ranks_stood_for(trace);
  TraceMetrics metrics;
  for (std::size_t i = 0; i < trace.ranks.size(); ++i) {
    const double of_world = static_cast<double>(weights[i]) / static_cast<double>(trace.world);
    const RankTimes times(schedule, trace.ranks[i], steps);
    RankShares rank{.rank = trace.ranks[i].rank, .shares = {}};
    const std::vector<TimeShares> all = times.shares();
    const std::span<const TimeShares> chosen = averaged(all);
    for (const TimeShares& shares : chosen) rank.shares.add(shares, 1.0 / static_cast<double>(chosen.size()));
    metrics.shares.add(rank.shares, of_world);
    metrics.ranks.push_back(rank);
  }
  schedule::StepTimes times = schedule::step_times(schedule, trace);
  metrics.last_step_span_s = times.last_span_s;
  metrics.step_time_s = median(times.seconds);
  metrics.step_times_s = std::move(times.seconds);
  return metrics;
}

}  // namespace orrery::sim
