// The first check: every index in range, layout canonical, views inside their buffers, each kind with the
// operands, group and stream that it needs. The other checks, and every consumer, rest on it.
#pragma once

#include "schedule/ir.h"
#include "schedule/verify/findings.h"

namespace orrery::schedule {

void check_structure(const Schedule& schedule, Findings& findings);

}  // namespace orrery::schedule
