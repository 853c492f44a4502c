// The output layer's weight gradient, put off. The last stage has nothing to do while the others drain the pipeline, and
// more to do than they before that: the output layer. So the weight-gradient products of its first microbatches wait until
// the last backward is over (Megatron-Core's defer_embedding_wgrad_compute, with wgrad_deferral_limit microbatches), and what
// they read is kept until then: of each microbatch the input of the output layer and the gradient of the logits.
// docs/models/schedules.md has the formulas.
#pragma once

#include "schedule/compile/point_to_point.h"
#include "schedule/compile/stage.h"

namespace orrery::schedule {

// How many microbatches of this stage; none where it is not the last.
std::int64_t deferred_microbatches(const Stage& s);

// Whether the action is the backward of one of them, through the output layer.
bool defers(const Stage& s, const Action& action);

// Appends the calls of `weight_gradients`, a block of the head, for each of them.
void append_deferred(Stage& s, BlockId weight_gradients);

}  // namespace orrery::schedule
