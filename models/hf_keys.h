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

// What a family's reader knows beyond a dense decoder.
struct HfParts {
  bool experts = false, latent = false;  // latent attention, and prediction modules with it
};

// Reports what makes `config` something that cannot be counted here (experts or latent attention in a family whose code
// has none, hybrid or individual layers, ...), once per reason, at the key that says so. True: none of it.
bool refuse_unsupported(const Json& config, const HfParts& known, Diagnostics& diagnostics);

}  // namespace orrery::models
