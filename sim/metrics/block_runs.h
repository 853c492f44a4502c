// How often each block of a program runs in one step, and how many ranks run the program. Sums over a
// schedule are sums over its distinct ops times these counts, so they cost the same for one microbatch or a
// million, for 8 ranks or 100,000.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/ir.h"

namespace orrery::sim {

std::vector<std::int64_t> block_runs(const schedule::Program& program);

std::int64_t ranks_of_a_program(const schedule::Schedule& schedule);
// The lowest rank that runs the program.
std::int64_t representative(const schedule::Schedule& schedule, std::size_t program);

// Calls `visit(op, runs)` for every distinct op that runs at least once.
template <typename Visit>
void for_each_distinct_op(const schedule::Program& program, Visit&& visit) {
  const std::vector<std::int64_t> runs = block_runs(program);
  for (std::size_t b = 0; b < program.blocks.size(); ++b) {
    if (runs[b] == 0) continue;
    for (const schedule::Op& op : program.ops_of(program.blocks[b])) visit(op, runs[b]);
  }
}

}  // namespace orrery::sim
