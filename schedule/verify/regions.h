// Cuts every buffer into atoms: the largest pieces that each view of a program either covers or does not
// touch. The race check then keeps one state an atom, and is exact for any overlap of views, without
// comparing rectangles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/ir.h"

namespace orrery::schedule {

struct Regions {
  std::vector<std::uint32_t> atoms_of_buffer;  // how many
  std::vector<std::uint32_t> first_atom;       // of each view, in `atoms`; one more at the end
  std::vector<std::uint32_t> atoms;            // numbers within the view's buffer
  bool complete = true;                        // false: views too ragged to cut (said by check_races)

  std::span<const std::uint32_t> of(std::size_t view) const {
    return {atoms.data() + first_atom[view], first_atom[view + 1] - first_atom[view]};
  }
};

// For the views as `rank` sees them (sharded views depend on it).
Regions cut_regions(const Schedule& schedule, const Program& program, std::int64_t rank);

}  // namespace orrery::schedule
