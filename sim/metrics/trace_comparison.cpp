#include "sim/metrics/trace_comparison.h"
#include "schedule/trace_check.h"

#include <map>


namespace orrery::sim {
namespace {

TraceSide side_of(const scenarios::Scenario& scenario, const schedule::Schedule& schedule,
                  const ComparedTrace& of) {
  TraceSide side{.word = of.word,
                 .source = of.source,
                 .trace = of.trace,
                 .steps = whole_steps(schedule, *of.trace),
                 .metrics = trace_metrics(schedule, *of.trace)};
  const double tokens = static_cast<double>(scenario.training.global_batch) *
                        static_cast<double>(scenario.training.sequence_length);
  if (side.metrics.step_time_s > 0.0) side.tokens_per_s = tokens / side.metrics.step_time_s;
  return side;
}

class RanksOf {
 public:
  explicit RanksOf(const schedule::Trace& trace) : trace_(trace) {
    for (const schedule::RankTrace& rank : trace.ranks) ranks_[rank.rank] = &rank;
  }
  const schedule::RankTrace& operator[](std::int64_t rank) const {
    return *ranks_.at(trace_.representative.empty() ? rank
                                                    : trace_.representative[static_cast<std::size_t>(rank)]);
  }

 private:
  const schedule::Trace& trace_;
  std::map<std::int64_t, const schedule::RankTrace*> ranks_;
};

}  // namespace

double TraceComparison::error(double of_first, double of_second) const {
  const double of = predicted ? of_first : of_second, to = predicted ? of_second : of_first;
  return to > 0.0 ? of / to - 1.0 : 0.0;
}

TraceComparison compare_traces(const scenarios::Scenario& scenario, const schedule::Schedule& schedule,
                               const ComparedTrace& first, const ComparedTrace& second) {
  TraceComparison c{.scenario = scenario.name,
                    .schedule = &schedule,
                    .first = side_of(scenario, schedule, first),
                    .second = side_of(scenario, schedule, second),
                    .predicted = first.word == "predicted",
                    .join = join(schedule, *first.trace, *second.trace),
                    .memory = {}};
  const RanksOf of_first(*first.trace), of_second(*second.trace);
  for (std::int64_t rank = 0; rank < schedule.world; ++rank) {
    const schedule::RankTrace &a = of_first[rank], &b = of_second[rank];
    c.memory.push_back({.rank = rank,
                        .first_live = a.peak_live_bytes,
                        .second_live = b.peak_live_bytes,
                        .first_host = a.peak_host_bytes,
                        .second_host = b.peak_host_bytes,
                        .second_arena = b.arena_bytes});
  }
  return c;
}

}  // namespace orrery::sim
