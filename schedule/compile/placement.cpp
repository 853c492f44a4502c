#include "schedule/compile/placement.h"

namespace orrery::schedule {

using scenarios::PlacementKind;

std::int64_t Placement::stage(std::int64_t rank, std::uint32_t chunk) const {
  const std::int64_t in_chunk = goes_up(chunk) ? rank : ranks - 1 - rank;
  return kind == PlacementKind::mirrored ? in_chunk : chunk * ranks + in_chunk;
}

Hop Placement::hop(std::int64_t rank, std::uint32_t chunk, int ahead) const {
  const std::int64_t wanted = stage(rank, chunk) + ahead;
  if (wanted < 0 || wanted >= stages()) return {};
  const int step = goes_up(chunk) ? ahead : -ahead;  // along the ranks, while the chunk lasts
  const bool same_chunk = rank + step >= 0 && rank + step < ranks;
  if (same_chunk) return {Hop::Kind::message, step, chunk};
  const auto neighbour = static_cast<std::uint32_t>(static_cast<int>(chunk) + ahead);
  if (kind == PlacementKind::vee || ranks == 1) return {Hop::Kind::local, 0, neighbour};
  return {Hop::Kind::message, step, neighbour};  // around: from the last rank to the first, or back
}

}  // namespace orrery::schedule
