// Latent attention's own arithmetic: rotary parts, the key that all heads share, values padded to the heads' width.
#pragma once

#include "schedule/op.h"
#include "tests/interpreter/tensor_view.h"

namespace orrery::interpreter {

struct LatentOutputs {
  Output k, v;
};
void latent_forward(const schedule::KernelShape& shape, TensorView q, ConstView x, ConstView shared,
                    const LatentOutputs& out);
void latent_backward(const schedule::KernelShape& shape, TensorView dq, ConstView dk, ConstView dv, Output dx,
                     Output dshared);
void resize_heads(const schedule::KernelShape& shape, ConstView x, Output y);

}  // namespace orrery::interpreter
