// Where the stages of the model are: rank r of a pipeline of p ranks holds chunks, chunk c being virtual stage
//
//   loop      c p + r                        (GPipe, 1F1B with one chunk; interleaved: from the last rank to the first)
//   vee       c p + r, or (c + 1) p - 1 - r for odd c   (down the ranks and up again: the turn is on one rank)
//   mirrored  r for chunk 0, p - 1 - r for chunk 1      (two copies of the model in opposite directions: DualPipe)
//
// Sources: Narayanan et al. 2021, section 2.2; Qi et al. 2023, section 6 (V); DeepSeek-V3 report 2024, section 3.2.1.
#pragma once

#include <cstdint>

#include "scenarios/pipeline_traits.h"

namespace orrery::schedule {

// The way from a chunk to its neighbour in the model.
struct Hop {
  enum class Kind : std::uint8_t { none, message, local } kind = Kind::none;  // local: the neighbour is on this rank
  int peer = 0;                 // where the neighbour is: +1 or -1, as an index offset in the pipe group
  std::uint32_t chunk = 0;      // of the neighbour, there
};

struct Placement {
  scenarios::PlacementKind kind = scenarios::PlacementKind::loop;
  std::int64_t ranks = 1, chunks = 1;  // chunks of each rank

  std::int64_t stages() const { return kind == scenarios::PlacementKind::mirrored ? ranks : ranks * chunks; }
  std::int64_t stage(std::int64_t rank, std::uint32_t chunk) const;
  bool is_first(std::int64_t rank, std::uint32_t chunk) const { return stage(rank, chunk) == 0; }
  bool is_last(std::int64_t rank, std::uint32_t chunk) const { return stage(rank, chunk) == stages() - 1; }
  Hop next(std::int64_t rank, std::uint32_t chunk) const { return hop(rank, chunk, 1); }       // where outputs go
  Hop previous(std::int64_t rank, std::uint32_t chunk) const { return hop(rank, chunk, -1); }  // and inputs come from
  bool goes_up(std::uint32_t chunk) const {
    return kind == scenarios::PlacementKind::loop || chunk % 2 == 0;  // stages grow with the rank
  }

 private:
  Hop hop(std::int64_t rank, std::uint32_t chunk, int ahead) const;
};

}  // namespace orrery::schedule
