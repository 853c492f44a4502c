// Which positions of a sequence a rank's rows are, under context parallelism: cp = ring x ulysses ranks share a sequence of s
// positions. The group "context" has `ring` members, among which keys and values travel, the group "ulysses" those that
// exchange heads for positions; either may be missing. Along the ring a sequence is cut into 2 ring chunks, and member i has
// chunks i and 2 ring - 1 - i, so that each member sees as many keys under a causal mask ("zig-zag": Llama team, "The Llama
// 3 Herd of Models", 2024, section 3.3.2; Megatron Core's context parallelism). A member's positions, in that order, are cut
// into `ulysses` equal parts, one a rank. So a rank's rows are one or two runs of consecutive positions.
//
// Everything that depends on a position (tokens, labels, tables, rotation, masks of scores, random draws) asks here.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/ir.h"

namespace orrery::schedule {

// Rows [row, row + count) of each sequence are the positions from `position` on.
struct PositionRun {
  std::int64_t row = 0, count = 0, position = 0;
  bool operator==(const PositionRun&) const = default;
};

struct ContextPlace {
  std::int64_t ring = 1, ring_index = 0;
  std::int64_t ulysses = 1, ulysses_index = 0;
};
ContextPlace context_place(const Schedule& schedule, std::int64_t rank);

// Of the `length` positions that are here.
std::vector<PositionRun> positions_of(const ContextPlace& place, std::int64_t length);

// What attention works on, behind the exchange of heads: the queries of the rank's member of the ring, and the keys of the
// member `peer` behind it, or, where the op has ring times as many keys as queries, of all members one behind the other.
struct AttentionPositions {
  std::vector<PositionRun> queries, keys;
  std::int64_t whole = 0;  // positions of the sequence
};
AttentionPositions attention_positions(const ContextPlace& place, const KernelShape& shape, std::int64_t peer);

}  // namespace orrery::schedule
