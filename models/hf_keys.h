// What a key of a Hugging Face config.json means for the parameter count, where no family asked for it.
#pragma once

#include <string_view>

#include "base/diagnostics.h"
#include "base/json.h"

namespace orrery::models {

// Names of tokens, generation, storage, training details: never a weight.
bool is_harmless_key(std::string_view key);

// The name speaks of layers, heads, sizes, experts, ...: not to be passed over.
bool may_change_parameters(std::string_view key);

// Reports what makes `config` something else than a dense decoder with equal layers (mixture of experts,
// latent attention, hybrid or individual layers, ...), once per reason, at the key that says so. True: none
// of it.
bool refuse_unsupported(const Json& config, Diagnostics& diagnostics);

}  // namespace orrery::models
