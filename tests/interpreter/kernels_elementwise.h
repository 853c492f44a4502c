// Elementwise kernels. gelu is the tanh form, 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), as GPT-2 and the
// fused kernels of Megatron compute it; swiglu silu(gate) up; geglu gelu(gate) up. Gated: x is [T x 2f], gate | up;
// a bias has 2f elements, or f, which are then up's.
#pragma once

#include "schedule/op.h"
#include "tests/interpreter/dropout.h"
#include "tests/interpreter/tensor_view.h"

namespace orrery::interpreter {

void fill(double value, TensorView y);
void copy(ConstView x, Output y);  // y = x, or y += x

void activation_forward(schedule::Activation activation, ConstView x, OptionalInput bias, Output y);
void activation_backward(schedule::Activation activation, ConstView dy, ConstView x, OptionalInput bias, Output dx,
                         OptionalOutput dbias);

// Attention probabilities [batch * heads x s x s] or hidden states: who calls says which element is kept.
struct ScoreLayout {
  std::int64_t heads = 0;  // of this rank; 0: hidden states
  std::int64_t first_head = 0, square = 0;
};
void dropout_forward(const Dropout& dropout, const ScoreLayout& layout, ConstView x, Output y, OptionalOutput mask);
void dropout_backward(const Dropout& dropout, ConstView dy, ConstView mask, Output dx);

struct ResidualInput {
  ConstView x;
  OptionalInput residual, bias;
};
void bias_dropout_add_forward(const Dropout& dropout, const ResidualInput& in, Output y, OptionalOutput mask);
void bias_dropout_add_backward(const Dropout& dropout, ConstView dy, OptionalInput mask, OptionalOutput dx,
                               OptionalOutput dbias);

}  // namespace orrery::interpreter
