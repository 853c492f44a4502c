// Orrery's own model file: the keys of docs/reference/model.md, which are the fields of Architecture.
#pragma once

#include "base/diagnostics.h"
#include "base/json.h"
#include "models/architecture.h"

namespace orrery::models {

// True if the object has a dimension in this format's spelling.
bool looks_native(const Json& json);

Architecture read_native(const Json& json, Diagnostics& diagnostics);

}  // namespace orrery::models
