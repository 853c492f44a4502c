// The end of a step: gradient norm and clipping, the update of weights, on the GPU or on the host.
#pragma once

#include <vector>

#include "schedule/compile/stage.h"

namespace orrery::schedule {

BlockId begin_step(Stage& s);  // zeroes what the step accumulates: loss, norm
BlockId zero_gradients(Stage& s, UnitKind kind);

// The norm of all gradients: a partial sum per unit, then sums over the ranks that hold other parts, then the
// host reads it (it decides whether the step is taken).
BlockId gradient_norm(Stage& s, UnitKind kind);
BlockId finish_norm(Stage& s);

// What this rank updates: the whole unit, or its shard inside the full vector (ZeRO-1), or its shard, kept alone.
Tensor own_part(Stage& s, BlockBuilder& b, UnitKind kind, BufferId buffer);
// The block comes after the reduction of the unit's gradients.
void after_reduction(Stage& s, BlockBuilder& b, UnitKind kind);

// The update of one unit's weights (or of this rank's shard of them).
BlockId update_weights(Stage& s, UnitKind kind);
// The same with states on the host: gradients down, Adam on the CPU, weights up.
BlockId update_on_host(Stage& s, UnitKind kind);

}  // namespace orrery::schedule
