// What the op ids of a Trace mean: an id is a position in the rank's host issue order, and here is what
// stands there. All ranks of a program share one list. Cost: 12 bytes an op of a step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/ir.h"

namespace orrery::schedule {

struct TracedOp {
  std::uint32_t op = 0;    // index into Program::ops
  std::uint32_t call = 0;  // index into Program::calls
  std::uint32_t microbatch = 0;
};

// [op id]
std::vector<TracedOp> traced_ops(const Program& program);

// "layer.forward.3": the block, and the op's position in it.
std::string op_name(const Program& program, std::uint32_t op);

}  // namespace orrery::schedule
