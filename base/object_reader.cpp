// Typed reading of one JSON object. Every message says what was found and, beside the caret, what is allowed and what to
// do. An error never stops the reading: the fallback, or the nearest legal value, stands in, and the caller stops at the end.
#include "base/object_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

const Json kNull{};

std::string clipped(std::string_view text) {
  std::size_t end = 40;
  if (text.size() <= end) return std::string(text);
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not inside a character
  return std::string(text.substr(0, end)) + "...";
}

std::string found(const Json& json) {
  switch (json.kind) {
    case Json::Kind::string: return fmt::format("the string \"{}\"", clipped(json.string));
    case Json::Kind::integer: return std::to_string(json.integer);
    case Json::Kind::number: return fmt::format("{}", json.number);
    case Json::Kind::boolean: return json.boolean ? "true" : "false";
    case Json::Kind::null:
    case Json::Kind::array:
    case Json::Kind::object: return std::string(kind_name(json.kind));
  }
  return {};
}

std::string range_text(std::int64_t min, std::int64_t max) {
  return max >= 9'000'000'000'000'000 ? fmt::format("at least {}", min) : fmt::format("from {} to {}", min, max);
}

std::string range_text(double min, double max) {
  return max >= 1e300 ? fmt::format("at least {}", min) : fmt::format("from {} to {}", min, max);
}

// An integer written as one, or exactly integral as 1e9 or 2.0.
std::optional<std::int64_t> as_integer(const Json& json) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: beyond it a double skips integers
  if (json.kind == Json::Kind::integer) return json.integer;
  if (json.kind != Json::Kind::number) return std::nullopt;
  if (std::abs(json.number) > kExact || json.number != std::floor(json.number)) return std::nullopt;
  return static_cast<std::int64_t>(json.number);
}

struct QuantityWords {
  std::string_view name;
  std::string_view allowed;
  std::string_view example_unit;
};

constexpr QuantityWords kBytesWords{
    "a size", "a number and B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, such as \"80 GiB\"", "GiB"};
constexpr QuantityWords kBandwidthWords{
    "a bandwidth", "a number and bit/s, Mbit/s, Gbit/s, Tbit/s, B/s, MB/s, GB/s, TB/s or GiB/s, such as \"400 Gbit/s\"",
    "Gbit/s"};
constexpr QuantityWords kFlopRateWords{"a FLOP rate", "a number and GFLOP/s, TFLOP/s or PFLOP/s, such as \"312 TFLOP/s\"",
                                       "TFLOP/s"};
constexpr QuantityWords kDurationWords{"a duration",
                                       "a number and ps, ns, us, ms, s, min, h or d, such as \"2 us\", up to 106 days",
                                       "us"};

struct Member {
  std::string_view key;
  const std::string& what;
};

template <typename Quantity, typename Parse>
Quantity read_quantity(const Json* json, std::optional<Quantity> fallback, Parse parse, const QuantityWords& words,
                       const Member& member, Diagnostics& diagnostics) {
  const Quantity otherwise = fallback.value_or(Quantity{});
  if (json == nullptr) return otherwise;
  if (json->is_number()) {
    diagnostics.error(json->place, fmt::format("\"{}\" in {} has no unit", member.key, member.what),
                      fmt::format("write it as a string with its unit, such as \"{} {}\"", found(*json),
                                  words.example_unit));
    return otherwise;
  }
  if (json->is_string())
    if (const std::optional<Quantity> value = parse(json->string)) return *value;
  diagnostics.error(json->place,
                    fmt::format("\"{}\" in {} must be {}, found {}", member.key, member.what, words.name, found(*json)),
                    fmt::format("allowed: {}", words.allowed));
  return otherwise;
}

}  // namespace

ObjectReader::ObjectReader(const Json& object, Diagnostics& diagnostics, std::string what)
    : object_(object), diagnostics_(diagnostics), what_(std::move(what)) {
  if (!object_.is_object())
    diagnostics_.error(object_.place, fmt::format("{} must be an object, found {}", what_, found(object_)),
                       "write { \"key\": value, ... }");
}

const Json* ObjectReader::lookup(std::string_view key, bool optional) {
  if (has(key)) return object_.find(key);
  if (!optional && object_.is_object()) {
    const Json* null = object_.find(key);
    diagnostics_.error(null ? null->place : object_.place,
                       fmt::format("\"{}\" in {} is required, and is {}", key, what_, null ? "null" : "missing"),
                       fmt::format("add \"{}\": ...", key));
  }
  return nullptr;
}

bool ObjectReader::has(std::string_view key) const {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  const Json* json = object_.find(key);
  return json != nullptr && !json->is_null();
}

const Json* ObjectReader::child(std::string_view key) { return lookup(key, true); }

const Json& ObjectReader::required(std::string_view key) {
  const Json* json = lookup(key, false);
  return json ? *json : kNull;
}

std::int64_t ObjectReader::integer(std::string_view key, const IntegerRule& rule) {
  const Json* json = lookup(key, rule.fallback.has_value());
  const std::int64_t otherwise = rule.fallback.value_or(rule.min);
  if (json == nullptr) return otherwise;
  const std::optional<std::int64_t> value = as_integer(*json);
  if (value && *value >= rule.min && *value <= rule.max) return *value;
  const std::string allowed = fmt::format("allowed: an integer {}", range_text(rule.min, rule.max));
  diagnostics_.error(json->place,
                     value ? fmt::format("\"{}\" in {} is {}, which is out of range", key, what_, *value)
                           : fmt::format("\"{}\" in {} must be an integer, found {}", key, what_, found(*json)),
                     allowed);
  return value ? std::clamp(*value, rule.min, rule.max) : otherwise;
}

double ObjectReader::number(std::string_view key, const NumberRule& rule) {
  const Json* json = lookup(key, rule.fallback.has_value());
  const double otherwise = rule.fallback.value_or(rule.min);
  if (json == nullptr) return otherwise;
  const std::string allowed = fmt::format("allowed: a number {}", range_text(rule.min, rule.max));
  if (!json->is_number()) {
    diagnostics_.error(json->place, fmt::format("\"{}\" in {} must be a number, found {}", key, what_, found(*json)),
                       allowed);
    return otherwise;
  }
  if (json->number >= rule.min && json->number <= rule.max) return json->number;
  diagnostics_.error(json->place, fmt::format("\"{}\" in {} is {}, which is out of range", key, what_, json->number),
                     allowed);
  return std::clamp(json->number, rule.min, rule.max);
}

bool ObjectReader::boolean(std::string_view key, std::optional<bool> fallback) {
  const Json* json = lookup(key, fallback.has_value());
  if (json == nullptr) return fallback.value_or(false);
  if (json->kind == Json::Kind::boolean) return json->boolean;
  diagnostics_.error(json->place, fmt::format("\"{}\" in {} must be a boolean, found {}", key, what_, found(*json)),
                     "allowed: true or false, without quotes");
  return fallback.value_or(false);
}

std::string ObjectReader::text(std::string_view key, std::optional<std::string> fallback) {
  const Json* json = lookup(key, fallback.has_value());
  if (json != nullptr && json->is_string()) return json->string;
  if (json != nullptr)
    diagnostics_.error(json->place, fmt::format("\"{}\" in {} must be a string, found {}", key, what_, found(*json)),
                       "write it in double quotes");
  return fallback ? std::move(*fallback) : std::string{};
}

Bytes ObjectReader::bytes(std::string_view key, std::optional<Bytes> fallback) {
  return read_quantity(lookup(key, fallback.has_value()), fallback, parse_bytes, kBytesWords, {key, what_},
                       diagnostics_);
}

Bandwidth ObjectReader::bandwidth(std::string_view key, std::optional<Bandwidth> fallback) {
  return read_quantity(lookup(key, fallback.has_value()), fallback, parse_bandwidth, kBandwidthWords, {key, what_},
                       diagnostics_);
}

FlopRate ObjectReader::flop_rate(std::string_view key, std::optional<FlopRate> fallback) {
  return read_quantity(lookup(key, fallback.has_value()), fallback, parse_flop_rate, kFlopRateWords, {key, what_},
                       diagnostics_);
}

Duration ObjectReader::duration(std::string_view key, std::optional<Duration> fallback) {
  return read_quantity(lookup(key, fallback.has_value()), fallback, parse_duration, kDurationWords, {key, what_},
                       diagnostics_);
}

std::optional<std::size_t> ObjectReader::choice_index(std::string_view key, bool optional,
                                                      const std::vector<std::string>& words) {
  const Json* json = lookup(key, optional);
  if (json == nullptr) return std::nullopt;
  const std::string all = fmt::format("allowed: {}", fmt::join(words, ", "));
  if (!json->is_string()) {
    diagnostics_.error(json->place, fmt::format("\"{}\" in {} must be a string, found {}", key, what_, found(*json)),
                       all);
    return std::nullopt;
  }
  const auto it = std::find(words.begin(), words.end(), json->string);
  if (it != words.end()) return static_cast<std::size_t>(it - words.begin());
  const std::string nearest = nearest_word(json->string, words);
  diagnostics_.error(json->place, fmt::format("\"{}\" in {} is unknown: \"{}\"", key, what_, clipped(json->string)),
                     nearest.empty() ? all : fmt::format("did you mean \"{}\"? {}", nearest, all));
  return std::nullopt;
}

Place ObjectReader::place(std::string_view key) const {
  const Json* json = object_.find(key);
  return json ? json->place : object_.place;
}

Place ObjectReader::place() const { return object_.place; }

void ObjectReader::finish() {
  for (const JsonMember& member : object_.members) {
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) continue;
    const std::string nearest = nearest_word(member.key, known_);
    diagnostics_.error(member.key_place, fmt::format("unknown key \"{}\" in {}", clipped(member.key), what_),
                       nearest.empty() ? fmt::format("known keys: {}", fmt::join(known_, ", "))
                                       : fmt::format("did you mean \"{}\"?", nearest));
  }
}

}  // namespace orrery
