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
  const double experts = real(a.experts.count) * 3.0 * hidden * real(a.experts.ffn_hidden);
  const LatentAttention& l = a.latent;
  const double latent = hidden * real(l.kv_rank + l.query_rank + l.rope_dim) +
                        real(a.heads) * (real(l.kv_rank) * real(l.nope_dim + l.value_dim) + real(l.query_rank) * real(a.head_dim));
  const double layers = real(a.layers) + real(a.prediction_layers);
  return layers * (attention + mlp + experts + latent) + hidden * (2.0 * real(a.vocab) + real(a.max_positions));
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

void check_experts(const Architecture& a, const ExpertFields& fields, Diagnostics& diagnostics) {
  const Experts& e = a.experts;
  const auto error = [&](const Field& field, const std::string& what, const std::string& advice) {
    diagnostics.error(field.place, what, advice);
  };
  if (e.top_k > e.count)
    error(fields.top_k, fmt::format("{}={} of {} experts", fields.top_k.key, e.top_k, e.count),
          fmt::format("1 to {}", e.count));
  if (e.count % e.groups != 0 || e.top_groups > e.groups || e.top_groups * (e.count / e.groups) < e.top_k)
    error(fields.groups,
          fmt::format("{} experts in {} groups, of which {} are chosen, do not hold {} for a token", e.count, e.groups,
                      e.top_groups, e.top_k),
          "the groups divide the experts, and the chosen ones hold at least top_k");
  if (expert_layers(a) == 0 && e.count > 0)
    error(fields.dense_layers, fmt::format("none of {} layers has experts", a.layers),
          "fewer dense layers, or no experts");
  if (a.parallel_block)
    error(fields.top_k, "experts beside attention (parallel_block) are not known", "set parallel_block to false");
  if (e.shared_gate && e.shared_ffn_hidden == 0)
    error(fields.shared_gate, "a gate without shared experts", "give their width, or leave the gate out");
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
