// The headline numbers as one CSV row (RFC 4180), for sweeps and spreadsheets. Column names are those of the
// JSON result with points for nesting.
#pragma once

#include <string>

#include "scenarios/scenario.h"
#include "sim/metrics/result.h"

namespace orrery::sim {

std::string csv_header();  // without newline
std::string csv_row(const scenarios::Scenario& scenario, const Result& result);
std::string csv_field(const std::string& text);  // quoted where it must be

}  // namespace orrery::sim
