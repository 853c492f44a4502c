// Performs one op that needs no other rank: finds its operands and calls its kernel. The meaning of every kind is
// stated in schedule/op.h; what that leaves open is decided at the kernels.
#pragma once

#include "tests/interpreter/op_context.h"

namespace orrery::interpreter {

// Returns what a cross_entropy_loss op adds to the loss, else 0. Throws ScheduleError.
double perform(const OpContext& context);

}  // namespace orrery::interpreter
