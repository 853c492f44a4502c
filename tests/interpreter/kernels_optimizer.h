// Optimizers on flat parameter vectors, and the squared gradient norm that clipping needs.
// AdamW (Loshchilov, Hutter 2019) with bias correction: p -= rate (mhat / (sqrt(vhat) + eps) + decay p).
// SGD: m = beta1 m + g where there is a momentum; p -= rate (m or g, + decay p).
// Clipping: g is scaled by clip / (norm + 1e-6) where that is below 1 (torch.nn.utils.clip_grad_norm_).
#pragma once

#include <algorithm>

#include "schedule/ir.h"
#include "tests/interpreter/tensor_view.h"

namespace orrery::interpreter {

// Where the rectangle's element 0 lies in its unit's flat vector, and what the unit says about positions.
struct FlatRange {
  std::int64_t first = 0;
  std::int64_t decay_from = 0;
  std::int64_t replicated_until = 0, replicated_from = 0, used = 0;  // equal on all tensor ranks
  bool decayed(std::int64_t i) const { return first + i >= decay_from; }
  bool replicated(std::int64_t i) const {
    const std::int64_t at = first + i;
    return at < replicated_until || (at >= replicated_from && at < used);
  }
};

double clip_factor(const schedule::Hyper& hyper, double norm_squared);
double squared_norm(ConstView x, const FlatRange& range, bool counts_replicated);

struct OptimizerState {
  TensorView master;  // the weights themselves where the recipe has no copy
  std::optional<TensorView> moment1, moment2;
  OptionalOutput w;  // written with the new master
  ConstView dw;
  double gradient_factor = 1.0;
  std::int64_t step = 1;  // counts from 1
};
void adam(const OptimizerState& state, const FlatRange& range, const schedule::Hyper& hyper);
void sgd(const OptimizerState& state, const FlatRange& range, const schedule::Hyper& hyper);

// y [2 x k] = values and indices of the k largest |x| (ties: the lower index).
void top_k_select(ConstView x, TensorView y);
// Zeroes what was selected: x keeps the rest, as the error that the next step feeds back.
void top_k_keep_rest(ConstView selected, TensorView x);
// y[index - first] += value for every block [2 x k] of x, where that lies in y (y may be a shard of the vector).
void top_k_apply(ConstView x, std::int64_t first, TensorView y);

}  // namespace orrery::interpreter
