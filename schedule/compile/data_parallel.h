// Traffic between data-parallel ranks: gradients summed (all_reduce, or reduce_scatter to shards under ZeRO),
// weights gathered (ZeRO-1 and 2 after the optimizer; ZeRO-3 before use: gathers.h). Rajbhandari et al. 2020
// (ZeRO); buckets as the scenario's policy says. A bucket is a run of whole layers, or a part of one layer
// where that is larger.
#pragma once

#include "schedule/compile/stage.h"

namespace orrery::schedule {

// Layers that one bucket holds (>= 1), and into how many messages one unit is cut (>= 1).
std::uint32_t layers_per_bucket(const Stage& s, UnitKind kind);
std::int64_t pieces_per_unit(const Stage& s, UnitKind kind);

// Sums the gradients of `units` consecutive units, the call's unit first (embedding and head: one).
BlockId reduce_gradients(Stage& s, UnitKind kind, std::uint32_t units, bool accumulates);

// ZeRO-1 and 2: gathers the updated weights of `units` consecutive units, at the start of the step or after
// the update.
BlockId gather_updated_weights(Stage& s, UnitKind kind, std::uint32_t units);

// ZeRO-2 and 3 where replicas are summed once a step: the sum of the kept shards.
BlockId reduce_replicas(Stage& s, UnitKind kind);

// Sends only the largest gradients (top-k), in place of reduce_gradients.
BlockId reduce_compressed(Stage& s, UnitKind kind);

// The tied embedding's gradient, summed over its two copies.
BlockId reduce_tied_embedding(Stage& s);

// The event behind the last reduction of the step, for the optimizer (ZeRO-0 and 1).
std::uint16_t reduced_token(Stage& s, BlockBuilder& b);

}  // namespace orrery::schedule
