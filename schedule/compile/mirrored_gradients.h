// Two copies of a stage, on mirrored ranks of the pipeline, each with the gradients of its own microbatches: their sum
// is both copies' gradient. Each sends the other all it has, which is what an all_reduce of two costs.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/compile/stage.h"

namespace orrery::schedule {

// The units here in the order in which both ranks come to them: by the lower of their stages, chunk after chunk.
struct MirroredUnit {
  UnitKind kind = UnitKind::layer;
  std::uint32_t unit = 0;
};
std::vector<MirroredUnit> mirrored_units(const Stage& s);

BlockId sum_mirrored_gradients(Stage& s, UnitKind kind);

}  // namespace orrery::schedule
