// `compare --measured TRACE SCENARIO`: what is predicted beside what a run measured; with two traces, one run
// beside another.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "sim/commands/output.h"

namespace orrery::sim {

struct CompareTracesOptions {
  std::vector<std::string> measured;  // one or two
  std::string perfetto;               // empty: none is written
  bool json = false, csv = false, full = false;
  double emulated_stretch = 0.0;  // predict.h
};

// Throws InputError for a trace of another schedule.
void compare_with_traces(const scenarios::Scenario& scenario, const CompareTracesOptions& options,
                         Output& out);

}  // namespace orrery::sim
