// Blocks wait for whatever another stream might have done to their operands. Where this program has no such
// stream the wait is dropped: an event that nothing records never orders anything.
#pragma once

#include "schedule/ir.h"

namespace orrery::schedule {

void drop_idle_waits(Program& p);

}  // namespace orrery::schedule
