// Matrix products of a linear layer whose weight is [outputs x inputs].
#pragma once

#include "tests/interpreter/tensor_view.h"

namespace orrery::interpreter {

// tn: y [m x n] = x [m x k] w[n x k]^T (+ bias[n])
void gemm_forward(ConstView x, ConstView w, OptionalInput bias, Output y);
// nn: dx [m x n] = dy [m x k] w [k x n]
void gemm_input_gradient(ConstView dy, ConstView w, Output dx);
// nt: dw [m x n] = dy[k x m]^T x [k x n]
void gemm_weight_gradient(ConstView dy, ConstView x, Output dw);
// dbias[n] = column sums of dy
void bias_backward(ConstView dy, Output dbias);

}  // namespace orrery::interpreter
