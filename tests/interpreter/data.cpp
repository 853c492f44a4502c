#include "tests/interpreter/data.h"

#include "base/random.h"

namespace orrery::interpreter {
namespace {

std::uint64_t bits(std::int64_t n) { return static_cast<std::uint64_t>(n); }

std::uint64_t hash_name(std::string_view name) {
  std::uint64_t state = 0;
  for (const char c : name) state = mix_bits((state ^ static_cast<unsigned char>(c)) + 0x9E3779B97F4A7C15ULL);
  return state;
}

bool is_norm_weight(std::string_view name) {
  const auto ends = [&](std::string_view with) {
    return name.size() >= with.size() && name.substr(name.size() - with.size()) == with;
  };
  return (name.find("norm") != std::string_view::npos && ends(".weight")) || ends("query_norm") || ends("key_norm");
}

}  // namespace

std::int64_t token(const TokenKey& key, std::int64_t vocab) {
  const RandomStream stream({.seed = bits(key.seed),
                             .purpose = DrawPurpose::data,
                             .step = bits(key.step),
                             .layer = 0,
                             .microbatch = bits(key.sequence)});
  return static_cast<std::int64_t>(stream.below(bits(key.position), bits(vocab)));
}

double initial_weight(std::string_view name, std::int64_t row, std::int64_t column, std::int64_t seed) {
  const RandomStream stream({.seed = bits(seed),
                             .purpose = DrawPurpose::weight_init,
                             .step = 0,
                             .layer = hash_name(name),
                             .microbatch = bits(row)});
  const double normal = stream.normal(bits(column));
  return is_norm_weight(name) ? 1.0 + 0.1 * normal : 0.2 * normal;
}

bool keeps(const DropoutKey& key, std::int64_t sequence, std::int64_t element, double probability) {
  constexpr std::int64_t kSites = 256;
  const RandomStream stream({.seed = bits(key.seed),
                             .purpose = DrawPurpose::dropout,
                             .step = bits(key.step),
                             .layer = bits(key.layer * kSites + key.site),
                             .microbatch = bits(sequence)});
  return stream.uniform(bits(element)) >= probability;
}

}  // namespace orrery::interpreter
