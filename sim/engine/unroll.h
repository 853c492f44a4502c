// One step of a program as the list of ops that its host issues, repeats unrolled. Long repeats over
// microbatches can be cut short by `skip` iterations (steady_state.h). Calls behind such a repeat that name a
// microbatch beyond what is left of it name the one as many below as were skipped: they find the buffers of
// the same earlier calls as before.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/ir.h"

namespace orrery::sim::engine {

// Which repeats are cut, and by how much they can be: the main loops over microbatches. Every one of them
// loses the same number of iterations, so what one rank sends another still receives.
struct Cut {
  std::int64_t iterations = 0;  // of the shortest of them; 0: nothing can be cut
  std::int64_t microbatches_per_iteration = 1;
  std::int64_t slots = 1;                  // microbatches in flight, where fewer than a repeat has iterations
  std::vector<std::vector<bool>> repeats;  // [program][repeat]: is cut
};
Cut find_cut(const schedule::Schedule& schedule);

struct IssuedOp {
  std::uint32_t op = 0, call = 0, microbatch = 0;
  std::uint32_t position = 0;  // in its stream
  std::uint32_t loop = 0;      // 1 + index of the repeat it belongs to where that was cut; else 0
};
std::vector<IssuedOp> unroll(const schedule::Program& program, const std::vector<bool>& cut_repeats,
                             std::int64_t skip);

}  // namespace orrery::sim::engine
