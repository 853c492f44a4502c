// JSON values that remember where they stood in which file. The reader is nlohmann/json's SAX parser over a counting
// iterator (its DOM keeps no positions); `//` and `/* */` comments are allowed; duplicate keys, numbers out of range
// and nesting deeper than 64 are errors. Object members keep their order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace orrery {

struct JsonMember;

struct Json {
  enum class Kind : std::uint8_t { null, boolean, integer, number, string, array, object };
  Kind kind = Kind::null;
  bool boolean = false;
  std::int64_t integer = 0;  // for Kind::integer; `number` then holds the same value
  double number = 0.0;
  std::string string;
  std::vector<Json> items;          // array
  std::vector<JsonMember> members;  // object, in file order
  Place place;                      // where the value begins

  bool is_null() const { return kind == Kind::null; }
  bool is_object() const { return kind == Kind::object; }
  bool is_array() const { return kind == Kind::array; }
  bool is_string() const { return kind == Kind::string; }
  bool is_number() const { return kind == Kind::integer || kind == Kind::number; }
  const Json* find(std::string_view key) const;  // member of an object, or null
  Json* find(std::string_view key);
};

struct JsonMember {
  std::string key;
  Place key_place;
  Json value;
};

std::string_view kind_name(Json::Kind kind);  // "an object", "a string", ...

// Parses; a syntax error is one Diagnostic at its place, and a null value is returned.
Json parse_json(std::shared_ptr<const SourceFile> source, Diagnostics& diagnostics);

// Parses a file. Throws InputError if it cannot be read or parsed.
Json read_json(const std::string& path);

// Text as a JSON string, with its quotes. Bytes that are no UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

// `over` laid on `under`: objects merge member by member, everything else is replaced. Places are kept.
Json merge(const Json& under, const Json& over);

}  // namespace orrery
