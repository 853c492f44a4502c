// What must hold between the dimensions of a model, whichever file format they came from. The reader says
// under which key and where each dimension stood, so that a finding points there and speaks the file's own
// language.
#pragma once

#include <cstdint>
#include <string>

#include "base/diagnostics.h"
#include "models/architecture.h"

namespace orrery::models {

// Bounds of every reader. They keep each product of two dimensions, and a layer's sum, inside int64 and
// double.
inline constexpr std::int64_t layers_max = 100'000;
inline constexpr std::int64_t hidden_max = 4'194'304;
inline constexpr std::int64_t heads_max = 65'536;
inline constexpr std::int64_t head_dim_max = 65'536;
inline constexpr std::int64_t ffn_max = 67'108'864;
inline constexpr std::int64_t experts_max = 65'536;
inline constexpr std::int64_t vocab_max = 268'435'456;
inline constexpr std::int64_t positions_max = 1'073'741'824;
inline constexpr double parameters_max = 1e15;  // with 18 B each, still far from 2^63

struct Field {
  std::string key;  // as the file spells it
  Place place;
};

struct DimensionFields {
  Field hidden, heads, kv_heads, head_dim;
  Place model;
};

// hidden / heads, the head size of a file that does not give one; an error, and 1, where that is no integer.
std::int64_t default_head_dim(std::int64_t hidden, std::int64_t heads, const DimensionFields& fields,
                              Diagnostics& diagnostics);

// Experts against layers, groups and each other.
struct ExpertFields {
  Field top_k, groups, dense_layers, shared_gate;
};
void check_experts(const Architecture& a, const ExpertFields& fields, Diagnostics& diagnostics);

// Query heads against key-value heads, widths that were computed from others, and the size of the whole.
void check_dimensions(const Architecture& a, const DimensionFields& fields, Diagnostics& diagnostics);

}  // namespace orrery::models
