// Multi-head latent attention (DeepSeek-V2, section 2.1), as it is trained: queries and keys and values come from vectors of
// low rank through their norms,
//
//   c_q = norm(x Wdq), q = c_q Wuq;  [c_kv | r] = x Wdkv, c = norm(c_kv);  [k_nope | v] of each head = c Wukv
//   q = [q_nope | rotated q_rope], k = [k_nope | rotated r, the same for all heads]
//
// and attention itself is the usual one over heads of nope + rope. Values are padded to that width with zeros, as kernels
// of one head size need; the output is trimmed before its projection. The low-rank products are computed on the rank's own
// rows and gathered behind the norms; the heads' products are cut over the tensor group.
#pragma once

#include "schedule/compile/stage.h"

namespace orrery::schedule {

struct QueryKeyValue;  // schedule/compile/blocks.h

// What the forward leaves for the backward; rows of the residual stream.
struct LatentTensors {
  Tensor query_down, query_latent;  // absent where queries have no low rank
  Tensor kv_down, kv_latent;        // kv_down: with the shared rotary part behind it
};
// `linear_inputs_life`: of those that weight gradients of the heads' products read.
LatentTensors latent_tensors(Stage& s, BlockBuilder& b, Life life, Life linear_inputs_life);

// q | k | v of all heads into `qkv`.
void write_latent_qkv(Stage& s, BlockBuilder& b, const LatentTensors& t, Tensor x, Tensor qkv);
// From the gradients of q, k and v to x's. Where the stage splits its backward, without the weight gradients; these, from
// what it has left.
Tensor latent_qkv_backward(Stage& s, BlockBuilder& b, const LatentTensors& t, const QueryKeyValue& d, Tensor x);
void latent_weight_gradients(Stage& s, BlockBuilder& b, Tensor x);
// Where those gradients are: weight gradients read q's alone.
QueryKeyValue latent_gradients(Stage& s, BlockBuilder& b);

// Heads of the attention's width to heads of the values' width, or back, padded with zeros.
Tensor resized_heads(Stage& s, BlockBuilder& b, const std::string& name, Tensor x, bool pads);

}  // namespace orrery::schedule
