// The text form of a Schedule, one line an op or call. parse(print(s)) equals s.
#pragma once

#include <memory>
#include <string>

#include "base/diagnostics.h"
#include "schedule/ir.h"

namespace orrery::schedule {

std::string print(const Schedule& schedule);
// One rank's ops, repeats unrolled, groups and peers as ranks, instances as numbers. For reading only.
std::string print_rank(const Schedule& schedule, std::int64_t rank);
Schedule parse(std::shared_ptr<const SourceFile> source, Diagnostics& diagnostics);

}  // namespace orrery::schedule
