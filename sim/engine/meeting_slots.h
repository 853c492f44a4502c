// How many meetings of a channel can be open at once, and which of them an op takes part in. A channel whose
// ops are on one stream, one at a time, has one open meeting at most: nobody can come to the next before the
// last has ended. Any other channel has a slot for every message of the step; a slot is free again when it
// comes round in the next step.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/flat_program.h"

namespace orrery::sim::engine {

// Sets FlatOp::slot; returns the number of slots of each channel.
std::vector<std::uint32_t> choose_slots(const Messages& messages, std::vector<FlatProgram>& flats);

}  // namespace orrery::sim::engine
