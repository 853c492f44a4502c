// Every unit runs each microbatch forward, and backward after forward. Only the kernels of the model count (a
// gather of weights or a zeroed gradient is neither). A unit without any backward is not trained here, and
// not checked.
#pragma once

#include "schedule/verify/findings.h"
#include "schedule/verify/walk.h"

namespace orrery::schedule {

void check_order(const Schedule& schedule, std::size_t program, const Walk& walk, const Cut& cut,
                 Findings& findings);

}  // namespace orrery::schedule
