// Where a unit's gradient begins and how it is made whole before data-parallel ranks add theirs.
#pragma once

#include "schedule/compile/stage.h"

namespace orrery::schedule {

// ZeRO-2 and 3: the full gradient of a unit is temporary. The block being written allocates and zeroes it,
// once the reduction that read it last is over. Without them the gradient is kept, and zeroed at the start of
// the step.
void begin_gradients(Stage& s, BlockBuilder& b, UnitKind kind);

}  // namespace orrery::schedule
