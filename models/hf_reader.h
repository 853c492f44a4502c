// Hugging Face config.json of dense decoder models (docs/reference/model.md lists the families).
#pragma once

#include "base/diagnostics.h"
#include "base/json.h"
#include "models/architecture.h"

namespace orrery::models {

// True if the object has keys that only such files have.
bool looks_like_hugging_face(const Json& json);

Architecture read_hugging_face(const Json& json, Diagnostics& diagnostics);

}  // namespace orrery::models
