// `validate [DIR]` without --execute: predicts the published runs of a directory and says how far off it is.
#pragma once

#include <cstdint>
#include <string>

#include "sim/commands/output.h"

namespace orrery::sim {

struct ValidatePublishedOptions {
  std::string directory, output;  // output: a CSV file, a line a run; none where empty
  bool markdown = false;          // the tables of docs/accuracy.md instead
  std::size_t worst = 10;         // runs that are named
  unsigned threads = 0;           // 0: as many as cores
};
int validate_published(const ValidatePublishedOptions& options, Output& out);

}  // namespace orrery::sim
