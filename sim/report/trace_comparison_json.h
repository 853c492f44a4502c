// A run beside another of the same schedule, for programs: one JSON document, and the table of ops as CSV
// (docs/reference/trace.md).
#pragma once

#include <string>

#include "sim/metrics/trace_comparison.h"

namespace orrery::sim {

std::string trace_comparison_json(const TraceComparison& comparison);
std::string trace_comparison_csv(const TraceComparison& comparison);

}  // namespace orrery::sim
