#include "sim/metrics/trace_join.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/check.h"
#include "base/quantile.h"
#include "schedule/kernel_work.h"
#include "schedule/trace_check.h"
#include "schedule/trace_ops.h"
#include "sim/metrics/op_shape.h"

namespace orrery::sim {
namespace {

using schedule::Op;
using schedule::Program;

double duration_s(const schedule::TraceRecord& r) {
  return static_cast<double>(r.end_ns - r.begin_ns) * 1e-9;
}
double wait_s(const schedule::TraceRecord& r) { return static_cast<double>(r.begin_ns - r.ready_ns) * 1e-9; }

// Times of the ops of one rank over the whole steps.
struct OpTimes {
  std::vector<double> duration_s, p10_s, p90_s, wait_s;  // [op id]; durations and waits are medians
};

class Medians {
 public:
  Medians(const schedule::Schedule& schedule, const schedule::Trace& trace)
      : schedule_(schedule), trace_(trace), steps_(static_cast<std::size_t>(whole_steps(schedule, trace))) {
    CHECK(steps_ > 0, trace.scenario);
    for (std::size_t i = 0; i < trace.ranks.size(); ++i) {
      place_[trace.ranks[i].rank] = i;
      times_.push_back(times_of(trace.ranks[i]));
    }
  }

  const OpTimes& of(std::int64_t rank) const { return times_[place_.at(stands_for(rank))]; }

 private:
  std::int64_t stands_for(std::int64_t rank) const {
    return trace_.representative.empty() ? rank : trace_.representative[static_cast<std::size_t>(rank)];
  }

  OpTimes times_of(const schedule::RankTrace& rank) const {
    const std::size_t ops = schedule::traced_ops(schedule_.program_of(rank.rank)).size();
    OpTimes times;
    std::vector<double> durations(steps_), waits(steps_);
    for (std::size_t op = 0; op < ops; ++op) {
      for (std::size_t step = 0; step < steps_; ++step) {
        const schedule::TraceRecord& r = rank.records[step * ops + op];
        durations[step] = duration_s(r);
        waits[step] = wait_s(r);
      }
      times.duration_s.push_back(median(durations));
      times.p10_s.push_back(quantile(durations, 0.1));
      times.p90_s.push_back(quantile(durations, 0.9));
      times.wait_s.push_back(median(waits));
    }
    return times;
  }

  const schedule::Schedule& schedule_;
  const schedule::Trace& trace_;
  std::size_t steps_;
  std::map<std::int64_t, std::size_t> place_;  // rank -> index
  std::vector<OpTimes> times_;
};

// Which row each op of a program belongs to.
class Rows {
 public:
  explicit Rows(const schedule::Schedule& schedule) : schedule_(schedule) {
    for (const Program& program : schedule.programs) {
      std::vector<std::size_t> rows;
      for (std::uint32_t op = 0; op < program.ops.size(); ++op) rows.push_back(row_of(program, op));
      row_of_op_.push_back(std::move(rows));
    }
  }

  const std::vector<std::size_t>& of_program(std::int64_t rank) const {
    return row_of_op_[static_cast<std::size_t>(schedule_.program_group.index(rank))];
  }
  std::vector<JoinedOp>& rows() { return rows_; }

 private:
  std::size_t row_of(const Program& program, std::uint32_t index) {
    const Op& op = program.ops[index];
    const bool talks = schedule::is_communication(op.kind);
    JoinedOp row{.name = schedule::op_name(program, index),
                 .kind = op.kind,
                 .group = talks ? op.group : schedule::kNoGroup,
                 .shape = op_shape_text(schedule_, program, op)};
    const auto [at, is_new] = index_.try_emplace({row.name, row.kind, row.shape, row.group}, rows_.size());
    if (is_new) rows_.push_back(std::move(row));
    return at->second;
  }

  using Key = std::tuple<std::string, schedule::OpKind, std::string, std::uint8_t>;
  const schedule::Schedule& schedule_;
  std::map<Key, std::size_t> index_;
  std::vector<JoinedOp> rows_;
  std::vector<std::vector<std::size_t>> row_of_op_;  // [program][op]
};

class Joiner {
 public:
  Joiner(const schedule::Schedule& schedule, const schedule::Trace& first, const schedule::Trace& second)
      : schedule_(schedule), first_(schedule, first), second_(schedule, second), rows_(schedule) {}

  TraceJoin join() {
    for (std::int64_t rank = 0; rank < schedule_.world; ++rank) add_rank(rank);
    TraceJoin joined{.ops = {}, .kinds = kinds(), .groups = groups_};
    const auto world = static_cast<double>(schedule_.world);
    for (JoinedGroup& g : joined.groups)
      for (double* sum : {&g.count, &g.first_s, &g.second_s, &g.first_wait_s, &g.second_wait_s})
        *sum /= world;
    for (const JoinedOp& row : rows_.rows())
      if (row.count > 0) joined.ops.push_back(finished_row(row));
    std::stable_sort(joined.ops.begin(), joined.ops.end(), [](const JoinedOp& a, const JoinedOp& b) {
      const double by_a = std::abs(a.adds_s), by_b = std::abs(b.adds_s);
      return by_a != by_b
                 ? by_a > by_b
                 : a.second_s * static_cast<double>(a.count) > b.second_s * static_cast<double>(b.count);
    });
    return joined;
  }

 private:
  void add_rank(std::int64_t rank) {
    const Program& program = schedule_.program_of(rank);
    const std::vector<schedule::TracedOp> ops = schedule::traced_ops(program);
    const std::vector<std::size_t>& row_of_op = rows_.of_program(rank);
    const OpTimes &first = first_.of(rank), &second = second_.of(rank);
    for (std::size_t id = 0; id < ops.size(); ++id) {
      const Op& op = program.ops[ops[id].op];
      if (op.kind == schedule::OpKind::host_wait) continue;  // it takes as long as what it waits for
      JoinedOp& row = rows_.rows()[row_of_op[ops[id].op]];
      ++row.count;
      row.first_s += first.duration_s[id];
      row.second_s += second.duration_s[id];
      row.second_p10_s += second.p10_s[id];
      row.second_p90_s += second.p90_s[id];
      if (!schedule::is_communication(op.kind)) continue;
      JoinedGroup& group = groups_[static_cast<std::size_t>(schedule::kind_of_group(schedule_, op.group))];
      group.count += 1.0;
      group.first_s += first.duration_s[id];
      group.second_s += second.duration_s[id];
      group.first_wait_s += first.wait_s[id];
      group.second_wait_s += second.wait_s[id];
    }
  }

  // Sums become means.
  JoinedOp finished_row(JoinedOp row) const {
    row.adds_s = (row.second_s - row.first_s) / static_cast<double>(schedule_.world);
    for (double* sum : {&row.first_s, &row.second_s, &row.second_p10_s, &row.second_p90_s})
      *sum /= static_cast<double>(row.count);
    return row;
  }

  std::vector<JoinedKind> kinds() {
    std::map<schedule::OpKind, JoinedKind> by_kind;
    const auto world = static_cast<double>(schedule_.world);
    for (const JoinedOp& row : rows_.rows()) {
      if (row.count == 0) continue;
      JoinedKind& kind = by_kind[row.kind];
      kind.kind = row.kind;
      kind.count += static_cast<double>(row.count) / world;
      kind.first_s += row.first_s / world;
      kind.second_s += row.second_s / world;
    }
    std::vector<JoinedKind> sorted;
    for (const auto& [kind, sums] : by_kind) sorted.push_back(sums);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const JoinedKind& a, const JoinedKind& b) { return a.second_s > b.second_s; });
    return sorted;
  }

  const schedule::Schedule& schedule_;
  Medians first_, second_;
  Rows rows_;
  std::array<JoinedGroup, schedule::kGroupKinds> groups_{};
};

}  // namespace

TraceJoin join(const schedule::Schedule& schedule, const schedule::Trace& first,
               const schedule::Trace& second) {
  return Joiner(schedule, first, second).join();
}

}  // namespace orrery::sim
