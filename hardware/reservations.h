// How far a measured table may be trusted, as the program that measured it noted: what it was asked to measure and did not reach,
// and a machine on which other programs ran. Notes like others of the provenance, told by how they begin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hardware/provenance.h"

namespace orrery::hardware {

inline constexpr std::string_view kNotMeasured = "not measured: ", kBusyMachine = "busy machine: ";

// Those notes, in their order.
inline std::vector<std::string> reservations(const Provenance& provenance) {
  std::vector<std::string> notes;
  for (const std::string& note : provenance.notes)
    if (note.starts_with(kNotMeasured) || note.starts_with(kBusyMachine)) notes.push_back(note);
  return notes;
}

}  // namespace orrery::hardware
