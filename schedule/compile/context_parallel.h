// Attention over a sequence whose positions are spread over ranks (schedule/positions.h says how). Four ways:
//
//   ring        each member's keys and values go once around; every step attends to one member's, and the parts are merged
//               (Liu, Zaharia, Abbeel: "Ring Attention with Blockwise Transformers", 2023). Messages have a stream of their
//               own, beside the attention of the step before. Backward: keys and values go around again, and behind
//               them their gradients, which come home after as many steps as there are members
//   all_gather  keys and values of all members are gathered, gradients reduced and scattered ("The Llama 3 Herd of
//               Models", 2024, section 3.3.2)
//   ulysses     all_to_all gives each rank all positions of 1 / ulysses of the heads, and gives the outputs back (Jacobs et
//               al.: "DeepSpeed Ulysses", 2023)
//   hybrid      ulysses inside, the ring among (Fang, Zhao: "USP", 2024)
//
// Saved beyond what one rank saves: with ulysses the exchanged output; q, k, v are saved exchanged instead of as made.
#pragma once

#include "schedule/compile/blocks.h"

namespace orrery::schedule {

// From q, k and v (attention_inputs) to t.out, or to `out` in its place, and t.lse.
void write_context_attention(Stage& s, BlockBuilder& b, const LayerTensors& t, Tensor out);

// Only what lies behind the exchange of heads: from what is saved to t.lse again (selective recomputation).
void write_context_core_again(Stage& s, BlockBuilder& b, const LayerTensors& t);

// From the gradient of t.out to those of q, k and v.
void write_context_backward(Stage& s, BlockBuilder& b, const LayerTensors& t, Tensor dout, const QueryKeyValue& d);

}  // namespace orrery::schedule
