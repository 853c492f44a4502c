// Optimizer steps, the gradient norm, and gradient compression: ops on flat vectors of one unit.
#pragma once

#include "tests/interpreter/op_context.h"

namespace orrery::interpreter {

bool perform_optimizer(const OpContext& context);  // false: not one of these kinds

}  // namespace orrery::interpreter
