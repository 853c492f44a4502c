// Checks between dimensions. The total is estimated in floating point first, because the exact sum of absurd
// dimensions would not fit int64.
#include "models/dimension_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace orrery::models {
namespace {

// The divisors of `n` nearest to `wanted`: the greatest below it and the smallest above.
std::vector<std::int64_t> nearest_divisors(std::int64_t n, std::int64_t wanted, std::int64_t max) {
  std::vector<std::int64_t> found;
  for (std::int64_t d = wanted - 1; d >= 1; --d)
    if (n % d == 0) {
      found.push_back(d);
      break;
    }
  for (std::int64_t d = wanted + 1; d <= n && d <= max; ++d)
    if (n % d == 0) {
      found.push_back(d);
      break;
    }
  return found;
}

double estimated_parameters(const Architecture& a) {
  const auto real = [](std::int64_t n) { return static_cast<double>(n); };
  const double hidden = real(a.hidden);
  const double attention = 2.0 * hidden * real(a.head_dim) * (real(a.heads) + real(a.kv_heads));
  const double mlp = 3.0 * hidden * real(a.ffn_hidden);
  return real(a.layers) * (attention + mlp) + hidden * (2.0 * real(a.vocab) + real(a.max_positions));
}

}  // namespace

std::int64_t default_head_dim(std::int64_t hidden, std::int64_t heads, const DimensionFields& fields,
                              Diagnostics& diagnostics) {
  if (hidden % heads == 0) return hidden / heads;
  diagnostics.error(fields.heads.place,
                    fmt::format("{}={} is not a multiple of {}={}, and {} is not given", fields.hidden.key,
                                hidden, fields.heads.key, heads, fields.head_dim.key),
                    fmt::format("give {}, or use {} heads", fields.head_dim.key,
                                fmt::join(nearest_divisors(hidden, heads, heads_max), " or ")));
  return 1;
}

void check_dimensions(const Architecture& a, const DimensionFields& fields, Diagnostics& diagnostics) {
  if (a.kv_heads > a.heads || a.heads % a.kv_heads != 0) {
    diagnostics.error(fields.kv_heads.place,
                      fmt::format("{}={} does not divide {}={}", fields.kv_heads.key, a.kv_heads,
                                  fields.heads.key, a.heads),
                      fmt::format("each key-value head serves the same number of query heads: use {}",
                                  fmt::join(nearest_divisors(a.heads, a.kv_heads, a.heads), " or ")));
  }
  if (a.ffn_hidden > ffn_max || a.max_positions > positions_max)  // they may follow from other values
    diagnostics.error(
        fields.model,
        fmt::format("the MLP is {} wide, the position table has {} rows", a.ffn_hidden, a.max_positions),
        fmt::format("at most {} and {}: check the dimensions", ffn_max, positions_max));
  if (const double total = estimated_parameters(a); total > parameters_max) {
    diagnostics.error(fields.model, fmt::format("these dimensions make about {:.2g} parameters", total),
                      fmt::format("at most {:.0e}: check the dimensions", parameters_max));
  }
}

}  // namespace orrery::models
