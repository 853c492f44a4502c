// Reads the members of one JSON object into typed values, reporting every problem: missing, of the wrong kind, out of
// range, unknown (with "did you mean"). Reading goes on after an error, with the fallback as value, so that all
// errors appear at once. A key that was never asked for is unknown; `finish()` reports those.
//
//     ObjectReader r(json, diagnostics, "parallel");
//     parallel.tp = r.integer("tp", {.fallback = 1, .min = 1, .max = 1'000'000});
//     r.finish();
//
// Dimensional values are strings with their unit ("400 Gbit/s", "80 GiB", "2 us"); a bare number there is an error
// that says so. Units: B kB MB GB TB KiB MiB GiB TiB; bit/s kbit/s Mbit/s Gbit/s Tbit/s, B/s kB/s MB/s GB/s TB/s
// GiB/s ...; ps ns us ms s min h d; FLOP/s kFLOP/s MFLOP/s GFLOP/s TFLOP/s PFLOP/s.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/json.h"
#include "base/quantities.h"
#include "base/units.h"

namespace orrery {

struct IntegerRule {
  std::optional<std::int64_t> fallback = std::nullopt;  // none: the member is required
  std::int64_t min = 0;
  std::int64_t max = 9'000'000'000'000'000;
};
struct NumberRule {
  std::optional<double> fallback = std::nullopt;
  double min = 0.0;
  double max = 1e300;
};

class ObjectReader {
 public:
  // `what` names the object in messages ("parallel"). A value that is no object is reported, and read as empty.
  ObjectReader(const Json& object, Diagnostics& diagnostics, std::string what);

  bool has(std::string_view key) const;             // present and not null; marks the key as known
  const Json* child(std::string_view key);          // present, any kind, else null; marks the key as known
  const Json& required(std::string_view key);       // reports when missing, and returns a null value
  std::int64_t integer(std::string_view key, const IntegerRule& rule);
  double number(std::string_view key, const NumberRule& rule);
  bool boolean(std::string_view key, std::optional<bool> fallback);
  std::string text(std::string_view key, std::optional<std::string> fallback);
  Bytes bytes(std::string_view key, std::optional<Bytes> fallback);
  Bandwidth bandwidth(std::string_view key, std::optional<Bandwidth> fallback);
  FlopRate flop_rate(std::string_view key, std::optional<FlopRate> fallback);
  Duration duration(std::string_view key, std::optional<Duration> fallback);
  // One of a closed list of words. `table` lists every choice; an unknown word is reported with the list.
  template <typename Enum>
  Enum choice(std::string_view key, std::optional<Enum> fallback,
              const std::vector<std::pair<std::string, Enum>>& table) {
    std::vector<std::string> words;
    words.reserve(table.size());
    for (const auto& [word, value] : table) words.push_back(word);
    const std::optional<std::size_t> at = choice_index(key, fallback.has_value(), words);
    if (at) return table[*at].second;
    return fallback ? *fallback : table.front().second;
  }
  Place place(std::string_view key) const;  // of the member's value; of the object when it is absent
  Place place() const;
  Diagnostics& diagnostics() { return diagnostics_; }
  void finish();  // reports unknown keys

 private:
  std::optional<std::size_t> choice_index(std::string_view key, bool optional,
                                          const std::vector<std::string>& words);
  const Json* lookup(std::string_view key, bool optional);
  const Json& object_;
  Diagnostics& diagnostics_;
  std::string what_;
  mutable std::vector<std::string> known_;
};

}  // namespace orrery
