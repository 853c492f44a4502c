// What one layer keeps from its forward for its backward, taken from compiled schedules, so that it is the
// same number that `run` itemises: the schedules of the model with two and with three layers differ by one
// layer; their peaks in the forward differ by its persistent buffers (weights, states) and by what it keeps.
#pragma once

#include <cstdint>

#include "base/units.h"
#include "models/architecture.h"

namespace orrery::sim {

struct ActivationQuestion {
  std::int64_t sequence_length = 1, micro_batch = 1;
};

struct LayerActivations {
  Bytes kept;           // with fused (flash) attention
  Bytes kept_separate;  // with separate attention kernels, which keep the s x s scores
};

// One GPU, 16-bit, no recomputation, the kernels of framework "orrery". Throws InputError where that is no
// legal plan.
LayerActivations layer_activations(const models::Architecture& model, const ActivationQuestion& question);

}  // namespace orrery::sim
