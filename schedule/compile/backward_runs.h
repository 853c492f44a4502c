// The layers of a chunk as its backward goes through them: in runs, the last first. A run is recomputed as a whole, then goes
// backward; layers that kept their activations are runs of one.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/compile/stage.h"

namespace orrery::schedule {

struct BackwardRun {
  std::uint32_t begin = 0, end = 0;  // layers of the chunk
  bool again = false;                // recomputed first
};
std::vector<BackwardRun> backward_runs(const Stage& s, std::uint32_t chunk);

}  // namespace orrery::schedule
