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
//
// Exchanges are on the compute stream, or beside it: where the scenario overlaps them with the shared experts (Megatron-LM's
// moe_shared_expert_overlap), and where the block runs together with one of another microbatch (DualPipe).
#pragma once

#include <functional>

#include "schedule/compile/stage.h"

namespace orrery::schedule {

// What the forward leaves for the backward.
struct ExpertTensors {
  Tensor logits, weights, routes, counts;  // counts: of all members
  Tensor rows, up, activated;              // of the experts' MLP
  Tensor returned;                         // the experts' outputs, as the tokens' rank has them
};
// `linear_inputs_life`: of those that the weight gradients of the experts read.
ExpertTensors expert_tensors(Stage& s, BlockBuilder& b, Life life, Life linear_inputs_life);

// `beside` writes what needs none of it, where tokens are on their way.
Tensor write_experts(Stage& s, BlockBuilder& b, const ExpertTensors& t, Tensor x, const std::function<void()>& beside);
// The gradient of x from that of the output. Where the stage splits its backward, without the experts' weight gradients.
Tensor experts_backward(Stage& s, BlockBuilder& b, const ExpertTensors& t, Tensor dy, Tensor x,
                        const std::function<void()>& beside);
// These, from what both have left.
void experts_weight_gradients(Stage& s, BlockBuilder& b);

}  // namespace orrery::schedule
