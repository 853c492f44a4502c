// The rows of a sweep for people (a table of what varies and what comes out, then the illegal ones with their
// reason) and for programs (JSON).
#pragma once

#include <map>
#include <string>

#include "sim/commands/sweep_row.h"

namespace orrery::sim {

using SweepRows = std::map<std::size_t, SweepRow>;

std::string sweep_text(const SweepPlan& plan, const SweepRows& rows);
// {"schema_version": 1, "sweep": id, "fields": [...], "rows": [{"index": 0, "file": ..., "set": {...},
// "status": ..., ...}]}
std::string sweep_json(const SweepPlan& plan, const SweepRows& rows);

}  // namespace orrery::sim
