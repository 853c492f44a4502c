// Ops of experts: finds their operands, and hands them to the kernels. False for other kinds.
#pragma once

#include "tests/interpreter/op_context.h"

namespace orrery::interpreter {

bool perform_experts(const OpContext& c);

}  // namespace orrery::interpreter
