// Norms over the last dimension, with the statistics recomputed in the backward. epsilon = 1e-5 (the architecture
// does not carry one). Layer norm: y = (x - mean) / sqrt(variance + epsilon) * w + bias. RMS norm: without mean and
// bias. The backward, with t = dy * w and n = the normalised x: dx = (t - mean(t) - n mean(t n)) / sqrt(...), where
// RMS norm has no mean(t).
#pragma once

#include "schedule/op.h"
#include "tests/interpreter/tensor_view.h"

namespace orrery::interpreter {

inline constexpr double kNormEpsilon = 1e-5;

void norm_forward(schedule::Norm norm, ConstView x, ConstView w, OptionalInput bias, Output y);

struct NormGradients {
  Output dx, dw;
  OptionalOutput dbias;
};
void norm_backward(schedule::Norm norm, ConstView dy, ConstView x, ConstView w, const NormGradients& gradients);

// RMS norm of each head's `head_dim` elements with one weight vector for all heads.
void head_norm_forward(ConstView x, ConstView w, Output y);
void head_norm_backward(ConstView dy, ConstView x, ConstView w, Output dx, Output dw);

}  // namespace orrery::interpreter
