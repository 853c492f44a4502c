// The values that every family has, under all their spellings.
#pragma once

#include <string>

#include "models/architecture.h"
#include "models/hf_config.h"

namespace orrery::models {

enum class Missing : std::uint8_t {
  is_default,  // f = 4 h; key-value heads = heads; head_dim = h / heads
  is_error     // the family's own default depends on its version, or is none of these
};

struct DimensionRules {
  Missing ffn = Missing::is_error;
  Missing kv_heads = Missing::is_default;
  Missing head_dim = Missing::is_default;
  double dropout = 0.0;         // the family's default
  bool llama_defaults = false;  // of LlamaConfig, where a nested configuration leaves dimensions out
};

// Fills in the dimensions, head_dim included, and the dropout.
void read_hf_dimensions(HfConfig& config, Architecture& a, const DimensionRules& rules);

// Where they stand, for check_dimensions: a family may still change them after they have been read.
DimensionFields hf_dimension_fields(const HfConfig& config);

// Rows of a learned position table.
std::int64_t read_hf_positions(HfConfig& config);

// The activation's word, by whether the family's MLP is gated; a word that is none of ours is an error.
enum class MlpKind : std::uint8_t { plain, gated };
ActivationKind read_hf_activation(HfConfig& config, MlpKind kind, const std::string& fallback);

}  // namespace orrery::models
