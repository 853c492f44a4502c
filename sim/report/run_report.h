// The report of `run`, for people: at most 100 columns, the verdict first, then where time and memory go,
// what to try, and what the numbers rest on. Plain text without colours; every line ends in a newline.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "scenarios/scenario.h"
#include "sim/metrics/result.h"

namespace orrery::sim {

// "Warnings" and a line each, with what to try; empty where there are none.
std::string warnings_text(const std::vector<Diagnostic>& warnings);

std::string run_report(const scenarios::Scenario& scenario, const Result& result);

}  // namespace orrery::sim
