// Computes the rows of a sweep on several threads and hands them over in order of their index, whatever the
// number of threads: the caller's thread takes them, one by one.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "sim/commands/sweep_row.h"

namespace orrery::sim {

// `indices`: which combinations, ascending. Whatever a row or `take` throws ends the work, and is thrown
// here.
void compute_rows(const SweepPlan& plan, const std::vector<std::size_t>& indices, unsigned threads,
                  const std::function<void(std::size_t index, SweepRow row)>& take);

}  // namespace orrery::sim
