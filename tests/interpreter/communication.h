// Moves the data of one communication op whose members have all met. `members[i]` is the op of the group's member i
// (for send and recv: sender, receiver). Chunks are flat ranges in row-major order, as NCCL sees them:
//   all_reduce      every y = sum (max) over members of y
//   reduce_scatter  member i: y = sum over members of chunk i of x; `update` adds it to y
//   all_gather      every y = the members' x, one behind the other
//   all_to_all      chunk j of member i's x goes to chunk i of member j's y
//   broadcast       every y = the y of member 0
// Several views (or pairs of views) of one op are as many calls. Throws ScheduleError when members do not agree.
#pragma once

#include <vector>

#include "tests/interpreter/op_context.h"

namespace orrery::interpreter {

void communicate(const std::vector<OpContext>& members);

}  // namespace orrery::interpreter
