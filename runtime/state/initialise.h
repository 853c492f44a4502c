// The state in which training starts. A weight is a pure function of seed, tensor name, row and column, so every plan
// starts from bitwise the same model: matrices are normal with deviation 0.02, those that add to the residual stream
// with 0.02 / sqrt(2 layers) (Radford et al. 2019, section 2.3; Shoeybi et al. 2019, section 4), norms are 1, biases
// 0. Master weights are the same numbers, rounded less. Cost: about 30 ns a weight, one thread.
#pragma once

#include "runtime/state/layout.h"
#include "runtime/state/state_memory.h"
#include "schedule/ir.h"

namespace orrery::runtime {

inline constexpr double kInitialDeviation = 0.02;

// Weights, and master weights where there are; moments, residuals and padding become 0.
void initialise(const schedule::Schedule& schedule, const StateLayout& layout, StateMemory& memory);

// Every byte of the state's buffers.
void clear_state(const StateLayout& layout, StateMemory& memory);

// The initial values of one run: weights and master weights; 0 for every other kind.
void initialise_run(const schedule::Schedule& schedule, const StateTensor& tensor, const StateRun& run,
                    StateMemory& memory);

}  // namespace orrery::runtime
