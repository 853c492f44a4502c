// The text form of a Schedule, one line an op or call. parse(print(s)) equals s.
#pragma once

#include <memory>
#include <string>

#include "base/diagnostics.h"
#include "scenarios/scenario.h"
#include "schedule/ir.h"

namespace orrery::schedule {

std::string print(const Schedule& schedule);
// One rank's ops, repeats unrolled, groups and peers as ranks, instances as numbers. For reading only.
std::string print_rank(const Schedule& schedule, std::int64_t rank);
Schedule parse(std::shared_ptr<const SourceFile> source, Diagnostics& diagnostics);

// Throw InputError with every error of the text. The second takes the place of the scenario's own schedule: as many ranks
// and microbatches.
Schedule read_schedule(const std::string& path);
Schedule read_schedule_for(const scenarios::Scenario& scenario, const std::string& path);

}  // namespace orrery::schedule
