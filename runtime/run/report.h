// What `orrery-rt` prints of a run: a line a step while it goes on, and a summary, as text or as one JSON document
// (docs/reference/execute.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "schedule/ir.h"
#include "schedule/trace.h"

namespace orrery::runtime {

struct Spread {
  double median = 0.0, p10 = 0.0, p90 = 0.0;
};
Spread spread_of(const std::vector<double>& values);

// No loss: of emulated kernels, which compute none.
std::string step_line(std::int64_t step, std::optional<double> loss, double seconds, double tokens_per_step);

// "Byte GPT on two cores, DP2: DP2, 2 ranks (threads) on 2 cores, 3.4 M parameters", and a note where ranks outnumber cores.
std::string run_heading(const scenarios::Scenario& scenario, const std::string& ranks_are, std::int64_t cores);

struct RunReport {
  const scenarios::Scenario& scenario;
  const schedule::Schedule& schedule;
  const schedule::Trace& trace;  // of the schedule
  double loss_floor = 0.0;       // below which no model's mean loss comes on this data; 0: not known
};
// Step times are those of schedule/trace_steps.h; there are none where no step was measured.
std::string run_summary(const RunReport& report);
std::string run_json(const RunReport& report);

}  // namespace orrery::runtime
