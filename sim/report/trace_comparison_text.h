// A run beside another of the same schedule, for people: the step, where its time goes, ops by kind,
// transfers by group, memory, and the ops that make the difference.
#pragma once

#include <string>

#include "sim/metrics/trace_comparison.h"

namespace orrery::sim {

std::string trace_comparison_text(const TraceComparison& comparison);

}  // namespace orrery::sim
