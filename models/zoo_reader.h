// Reads an Architecture: from Orrery's own model files (docs/reference/model.md) or from a Hugging Face config.json,
// told apart by their keys. Never guesses: a key that changes the parameter count and is not understood is an error.
#pragma once

#include <string>

#include "base/diagnostics.h"
#include "base/json.h"
#include "models/architecture.h"

namespace orrery::models {

// `json` is an inline object or the content of a file. Problems go to `diagnostics`; the result is then unusable.
Architecture read_architecture(const Json& json, Diagnostics& diagnostics);

// Writes the file form; reading it back gives the same Architecture.
std::string write_architecture(const Architecture& a);

}  // namespace orrery::models
