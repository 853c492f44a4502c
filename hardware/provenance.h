// Where a measured table comes from: which machine, when, by which program with which options, and what was
// noticed on the way (curves that no line fits, outliers). Kept in the file, shown with --explain.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/json.h"

namespace orrery::hardware {

struct Provenance {
  std::string machine;  // processor, cores, memory, operating system
  std::string date;     // "2026-11-30", or with time
  std::string program;  // name and version of what measured
  std::string options;  // how it was called
  std::vector<std::string> notes;
  bool operator==(const Provenance&) const = default;
};

Provenance read_provenance(const Json& json, Diagnostics& diagnostics);
std::string provenance_json(const Provenance& provenance);  // {"machine": ..., ...}

// One line for people: "AMD EPYC 7B13, 2 cores; 2026-11-30; orrery-rt 0.1 --quick".
std::string words(const Provenance& provenance);

}  // namespace orrery::hardware
