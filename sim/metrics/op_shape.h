// What an op works on, in a few words: "tn 512x1024x256" (m x n x k), "b2 s512 h8 d64", "4.19 MB" of a
// message, else the rows and columns of what it writes.
#pragma once

#include <string>

#include "schedule/ir.h"

namespace orrery::sim {

// `op` is an element of program.ops.
std::string op_shape_text(const schedule::Schedule& schedule, const schedule::Program& program,
                          const schedule::Op& op);

}  // namespace orrery::sim
