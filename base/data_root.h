// Where the data that ships with Orrery lives (models/zoo, hardware/gpus, scenarios, ...), and how a path named in a
// file is found: absolute; else relative to the directory of the naming file; else relative to the working directory;
// else relative to the data root: $ORRERY_DATA, or the source tree this program was built from.
#pragma once

#include <string>

#include "base/diagnostics.h"

namespace orrery {

std::string data_root();

// The path that exists, or an empty string. `from` is the naming file, may be null.
std::string find_file(const std::string& named, const SourceFile* from);

}  // namespace orrery
