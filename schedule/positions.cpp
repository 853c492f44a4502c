#include "schedule/positions.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::schedule {

ContextPlace context_place(const Schedule& schedule, std::int64_t rank) {
  ContextPlace place;
  if (const std::uint8_t g = find_group(schedule, "context"); g != kNoGroup) {
    place.ring = schedule.groups[g].size;
    place.ring_index = schedule.groups[g].index(rank);
  }
  if (const std::uint8_t g = find_group(schedule, "ulysses"); g != kNoGroup) {
    place.ulysses = schedule.groups[g].size;
    place.ulysses_index = schedule.groups[g].index(rank);
  }
  return place;
}

std::vector<PositionRun> positions_of(const ContextPlace& place, std::int64_t length) {
  if (place.ring == 1) return {{0, length, place.ulysses_index * length}};
  const std::int64_t of_member = length * place.ulysses, chunk = of_member / 2;
  CHECK(of_member % 2 == 0, length, place.ulysses);
  // Positions of the member, counted in the order in which it has them.
  const std::int64_t first = place.ulysses_index * length, end = first + length;
  std::vector<PositionRun> runs;
  if (first < chunk) {
    const std::int64_t count = std::min(end, chunk) - first;
    runs.push_back({0, count, place.ring_index * chunk + first});
  }
  if (end > chunk) {
    const std::int64_t from = std::max(first, chunk);
    runs.push_back({from - first, end - from, (2 * place.ring - 1 - place.ring_index) * chunk + from - chunk});
  }
  // The last member's two chunks are neighbours.
  if (runs.size() == 2 && runs[0].position + runs[0].count == runs[1].position)
    return {{0, length, runs[0].position}};
  return runs;
}

AttentionPositions attention_positions(const ContextPlace& place, const KernelShape& shape, std::int64_t peer) {
  const auto of_member = [&](std::int64_t index) {
    return positions_of({.ring = place.ring, .ring_index = index}, shape.sequence);
  };
  AttentionPositions p;
  p.whole = place.ring * shape.sequence;
  p.queries = of_member(place.ring_index);
  const std::int64_t keys = shape.keys > 0 ? shape.keys : shape.sequence;
  if (keys == shape.sequence) {
    p.keys = of_member(((place.ring_index + peer) % place.ring + place.ring) % place.ring);
    return p;
  }
  CHECK(keys == p.whole, keys, p.whole);
  for (std::int64_t m = 0; m < place.ring; ++m)
    for (PositionRun run : of_member(m)) {
      run.row += m * shape.sequence;
      p.keys.push_back(run);
    }
  return p;
}

}  // namespace orrery::schedule
