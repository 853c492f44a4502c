// Low-precision products: a pass over a finished layer block that lets its linear products (query, key,
// value, output, MLP; not attention, embedding or head) read 8- or 4-bit operands, and puts before each the
// kernels that make them:
//
//   forward   y  = x w^T    x is cast; its copy for the weight gradient is kept instead of the 16-bit one
//   where nothing else reads that backward  dx = dy w     dy is cast once for both products
//             dw = dy^T x   x comes from the forward's copy
//
// Weights are cast once a step, when they are new, and stay (is_first_microbatch of Transformer Engine);
// under ZeRO-3, where they come and go, at every use. What a recipe adds:
//
//   scaling    casts                                                        copies of an operand
//   delayed    one kernel (the scale is of earlier steps)                   1, on Hopper 2 (its fp8 products
//   are TN only) current    a pass for the largest magnitude first                       the same block one
//   kernel, an fp32 scale a 1 x 128 tile (weights 128^2)      2: a scale belongs to the direction of the sum
//   mx         one kernel, a byte a 32 elements (OCP MX 1.0)                2
//   nvfp4      a pass for the tensor's scale first, a byte a 16 elements    2
//
// Sources: Micikevicius et al. 2022 (arXiv 2209.05433); OCP Microscaling Formats 1.0 (2023); DeepSeek-V3
// (arXiv 2412.19437), section 3.3; Transformer Engine, "FP8 and FP4 recipes". docs/models/precision.md has
// the sums.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/compile/stage.h"

namespace orrery::schedule {

// Rewrites the block's linear products; nothing where the scenario computes in 16 bits or more.
void lower_products(Stage& s, BlockBuilder& b);

// The weights of a layer in low precision, made when the optimizer has written them. Only where they stay.
bool keeps_low_weights(const Stage& s);
BlockId cast_weights(Stage& s);

}  // namespace orrery::schedule
