// The squared norm of a gradient, and what clipping makes of it: gradients are scaled by clip / (norm + 1e-6)
// where that is below 1 (torch.nn.utils.clip_grad_norm_; Pascanu et al. 2013). Squares are summed in double,
// where no finite float overflows; what the sum of all units says of overflow: kernels/cpu/loss/loss_scaler.h. G is double, float, bf16 or fp16. Cost: one read of the gradients.
#pragma once

#include "kernels/cpu/optimizer/flat_range.h"
#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

// Sum of squares of x, contiguous; elements that all tensor ranks hold count only where `counts_replicated`
// (on tensor index 0).
template <typename G>
double squared_norm(In<G> x, const FlatRange& range, bool counts_replicated);

// What each gradient is multiplied by. `squared` is the norm over all ranks of gradients that are
// `loss_scale` times too large; clip 0: no clipping.
double gradient_factor(double clip, double squared, double loss_scale);

}  // namespace orrery::kernels
