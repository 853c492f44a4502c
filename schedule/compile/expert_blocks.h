// The experts of a layer, in the place of its MLP (Shazeer et al. 2017; Lepikhin et al. 2020, GShard; Rajbhandari et al.
// 2022, DeepSpeed-MoE). Forward, on the rank's own rows x of the residual stream:
//
//   route     logits = x R^T; each token's top_k experts and weights
//   permute   a row for each choice, by expert
//   dispatch  all_to_all to the ranks that hold the experts; all_gather over those that hold parts of them
//   sort      what came sender by sender, by expert
//   MLP       grouped products and the activation
//   back      unsort, reduce_scatter, all_to_all
//   combine   each token's weighted sum; the shared experts' output is added
//
// Backward is the same read upwards: gradients of outputs go the way of the tokens. Counts of rows travel once, by
// all_gather, so that all members know everybody's. With one rank a layer of experts has no message.
#pragma once

#include "schedule/compile/stage.h"

namespace orrery::schedule {

// What the forward leaves for the backward.
struct ExpertTensors {
  Tensor logits, weights, routes, counts;  // counts: of all members
  Tensor rows, up, activated;              // of the experts' MLP
  Tensor returned;                         // the experts' outputs, as the tokens' rank has them
};
ExpertTensors expert_tensors(Stage& s, BlockBuilder& b, Life life);

Tensor write_experts(Stage& s, BlockBuilder& b, const ExpertTensors& t, Tensor x);
// The gradient of x from that of the output.
Tensor experts_backward(Stage& s, BlockBuilder& b, const ExpertTensors& t, Tensor dy, Tensor x);

}  // namespace orrery::schedule
