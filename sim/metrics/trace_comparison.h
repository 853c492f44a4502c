// One run beside another of the same schedule: what is predicted beside what was measured, or two
// measurements. All that the reports print (sim/report/trace_comparison_*).
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "schedule/ir.h"
#include "schedule/trace.h"
#include "sim/metrics/trace_join.h"
#include "sim/metrics/trace_metrics.h"

namespace orrery::sim {

struct TraceSide {
  std::string word;    // "predicted", "measured", "first", "second"
  std::string source;  // the file; predicted: empty
  const schedule::Trace* trace = nullptr;
  std::int32_t steps = 0;  // whole ones
  TraceMetrics metrics{};
  double tokens_per_s = 0.0;
};

// Peaks of live bytes as allocated; the two machines must agree on them to the byte.
struct RankMemory {
  std::int64_t rank = 0;
  std::int64_t first_live = 0, second_live = 0, first_host = 0, second_host = 0;
  std::int64_t second_arena = 0;  // 0: not measured
  bool equal() const { return first_live == second_live && first_host == second_host; }
  // What packing into one arena costs, as a share of the live bytes.
  double packing_loss() const {
    return second_arena > 0 && second_live > 0
               ? static_cast<double>(second_arena) / static_cast<double>(second_live) - 1.0
               : 0.0;
  }
};

struct TraceComparison {
  std::string scenario;
  const schedule::Schedule* schedule = nullptr;
  TraceSide first, second;
  bool predicted = true;  // `first` is a simulation, else a measurement too
  TraceJoin join;
  std::vector<RankMemory> memory;  // every rank

  // Predicted against measured: first / second - 1; two measurements: second / first - 1.
  double error(double of_first, double of_second) const;
};

// `first` and `second` are traces of the schedule with a whole step (schedule/trace_check.h), and live as long as the
// comparison; the first is a prediction where its word is "predicted".
struct ComparedTrace {
  std::string word, source;
  const schedule::Trace* trace = nullptr;
};
TraceComparison compare_traces(const scenarios::Scenario& scenario, const schedule::Schedule& schedule,
                               const ComparedTrace& first, const ComparedTrace& second);

}  // namespace orrery::sim
