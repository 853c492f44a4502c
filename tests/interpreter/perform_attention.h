// Attention, rotary positions, and dropout (whose mask may be over attention probabilities).
#pragma once

#include "tests/interpreter/op_context.h"

namespace orrery::interpreter {

bool perform_attention(const OpContext& context);  // false: not one of these kinds

}  // namespace orrery::interpreter
