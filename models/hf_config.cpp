// Typed access to a Hugging Face configuration; the messages for wrong kinds and ranges are ObjectReader's.
#include "models/hf_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "models/hf_keys.h"

namespace orrery::models {
namespace {

// Values that switch a feature off, whatever the feature is.
bool says_nothing(const Json& json) {
  switch (json.kind) {
    case Json::Kind::null:
      return true;
    case Json::Kind::boolean:
      return !json.boolean;
    case Json::Kind::integer:
    case Json::Kind::number:
      return json.number == 0.0;
    case Json::Kind::string:
      return json.string.empty();
    case Json::Kind::array:
      return json.items.empty();
    case Json::Kind::object:
      return json.members.empty();
  }
  return false;
}

}  // namespace

HfConfig::HfConfig(const Json& text, const Json& outer, Diagnostics& diagnostics)
    : text_(text),
      outer_(outer),
      diagnostics_(diagnostics),
      reader_(text, diagnostics, "the model configuration") {}

std::vector<std::string_view> HfConfig::present(const Spellings& keys) {
  std::vector<std::string_view> found;
  for (const std::string_view key : keys) {
    known_.emplace_back(key);
    if (reader_.has(key)) found.push_back(key);
  }
  return found;
}

std::int64_t HfConfig::integer(const Spellings& keys, std::optional<std::int64_t> fallback,
                               std::int64_t max) {
  const std::vector<std::string_view> found = present(keys);
  if (found.empty()) return reader_.integer(keys.front(), {fallback, 1, max});
  const std::int64_t value = reader_.integer(found.front(), {fallback, 1, max});
  for (std::size_t i = 1; i < found.size(); ++i) {
    const std::int64_t other = reader_.integer(found[i], {fallback, 1, max});
    if (other != value)
      diagnostics_.error(reader_.place(found[i]),
                         fmt::format("{}={} contradicts {}={}", found[i], other, found.front(), value),
                         "both keys mean the same: keep one");
  }
  return value;
}

bool HfConfig::has(const Spellings& keys) { return !present(keys).empty(); }

bool HfConfig::mentions(const Spellings& keys) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](std::string_view key) { return text_.find(key) != nullptr; });
}

bool HfConfig::flag(std::string_view key, bool fallback) {
  known_.emplace_back(key);
  return reader_.boolean(key, fallback);
}

double HfConfig::number(const Spellings& keys, double fallback, double max) {
  const std::vector<std::string_view> found = present(keys);
  return found.empty() ? fallback : reader_.number(found.front(), {fallback, 0.0, max});
}

std::string HfConfig::word(const Spellings& keys, const std::string& fallback) {
  const std::vector<std::string_view> found = present(keys);
  return found.empty() ? fallback : reader_.text(found.front(), fallback);
}

const Json* HfConfig::object(std::string_view key) {
  known_.emplace_back(key);
  const Json* json = reader_.child(key);
  if (json == nullptr || json->is_object()) return json;
  diagnostics_.error(json->place,
                     fmt::format("\"{}\" must be an object, found {}", key, kind_name(json->kind)),
                     "write { \"key\": value, ... }");
  return nullptr;
}

bool HfConfig::tied_embeddings(bool fallback) {
  constexpr const char* key = "tie_word_embeddings";
  known_.emplace_back(key);
  ObjectReader outside(outer_, diagnostics_, "the configuration");
  const bool inside_says = reader_.has(key);
  if (!nested() || !outside.has(key)) return reader_.boolean(key, fallback);
  const bool tied = outside.boolean(key, fallback);
  if (inside_says && reader_.boolean(key, fallback) != tied)
    diagnostics_.error(reader_.place(key),
                       fmt::format("\"{}\" contradicts the outer one, which is {}", key, tied),
                       "make them equal: the output projection is counted or not");
  return tied;
}

Field HfConfig::field(const Spellings& keys) const {
  for (const std::string_view key : keys)
    if (reader_.has(key)) return {std::string(key), reader_.place(key)};
  return {std::string(keys.front()), text_.place};
}

void HfConfig::refuse(std::string_view key, const std::string& meaning) {
  diagnostics_.error(reader_.place(key), fmt::format("\"{}\" is not supported: {}", key, meaning),
                     "only what the family's code is known to do can be counted exactly");
}

void HfConfig::require_empty(std::string_view key, const std::string& meaning) {
  known_.emplace_back(key);
  const Json* value = reader_.child(key);
  if (value != nullptr && value->is_array() && !value->items.empty()) refuse(key, meaning);
}

void HfConfig::require_false(std::string_view key, const std::string& meaning) {
  if (flag(key, false)) refuse(key, meaning);
}

std::size_t HfConfig::errors() const {
  std::size_t errors = 0;
  for (const Diagnostic& d : diagnostics_.all()) errors += d.severity == Severity::error ? 1 : 0;
  return errors;
}

void HfConfig::finish() {
  std::vector<std::string> unused;
  Place first;
  for (const JsonMember& member : text_.members) {
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) continue;
    if (is_harmless_key(member.key) || says_nothing(member.value)) continue;
    if (may_change_parameters(member.key)) {
      const std::string nearest = nearest_word(member.key, known_);
      diagnostics_.error(
          member.key_place,
          fmt::format("\"{}\" is not understood here, and may change the parameter count", member.key),
          nearest.empty() ? "remove it if it does not, or write a model file of Orrery's own"
                          : fmt::format("did you mean \"{}\"?", nearest));
      continue;
    }
    if (unused.empty()) first = member.key_place;
    unused.push_back(member.key);
  }
  if (!unused.empty())
    diagnostics_.warning(first, fmt::format("not used: {}", fmt::join(unused, ", ")),
                         "these keys do not look as if they changed the parameter count");
}

}  // namespace orrery::models
