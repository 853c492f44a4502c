// What `orrery-rt` prints of a run: a line a step while it goes on, and a summary, as text or as one JSON document
// (docs/reference/execute.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "schedule/trace.h"

namespace orrery::runtime {

struct Spread {
  double median = 0.0, p10 = 0.0, p90 = 0.0;
};
Spread spread_of(std::vector<double> values);  // of at least one

// Seconds of each kept step: from the first op of a step to the first op of the next, averaged over ranks; the last step,
// to its own last op. Source: docs/reference/result.md, "step time".
std::vector<double> step_seconds(const schedule::Trace& trace);

std::string step_line(std::int64_t step, double loss, double seconds, double tokens_per_step);

// `first_step`: whose loss is losses[0].
std::string run_summary(const scenarios::Scenario& scenario, const schedule::Trace& trace);
std::string run_json(const scenarios::Scenario& scenario, const schedule::Trace& trace);

}  // namespace orrery::runtime
