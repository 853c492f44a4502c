// Every unit runs each microbatch forward, then backward, then, where they are apart, its weight gradients. Only the
// kernels of the model count (a gather of weights or a zeroed gradient is neither). A unit without any backward is not
// trained here, and not checked.
#pragma once

#include <map>
#include <utility>

#include "schedule/verify/findings.h"
#include "schedule/verify/walk.h"

namespace orrery::schedule {

// Microbatches that the copies of a unit run, where several programs have one (DualPipe): all copies together.
using CopyRuns = std::map<std::pair<UnitKind, std::int64_t>, std::int64_t>;

void check_order(const Schedule& schedule, std::size_t program, const Walk& walk, const Cut& cut,
                 CopyRuns& copies, Findings& findings);
void check_copies(const Schedule& schedule, const CopyRuns& copies, const Cut& cut, Findings& findings);

}  // namespace orrery::schedule
