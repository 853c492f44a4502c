#include "scenarios/assignment.h"

#include <fmt/format.h>

#include <memory>
#include <string_view>
#include <utility>

namespace orrery::scenarios {
namespace {

using Source = std::shared_ptr<const SourceFile>;

[[noreturn]] void refuse(const Source& line, std::size_t at, const std::string& message,
                         const std::string& hint) {
  Diagnostics diagnostics;
  diagnostics.error({line, 1, static_cast<std::uint32_t>(at + 1)}, message, hint);
  throw InputError(diagnostics.text());
}

// A value is parsed on its own; its places are moved to where it stands in the whole argument.
void move_places(Json& json, const Source& line, std::size_t by) {
  const auto moved = [&](const Place& place) {
    return Place{line, place.line,
                 place.line == 1 ? place.column + static_cast<std::uint32_t>(by) : place.column};
  };
  json.place = moved(json.place);
  for (Json& item : json.items) move_places(item, line, by);
  for (JsonMember& member : json.members) {
    member.key_place = moved(member.key_place);
    move_places(member.value, line, by);
  }
}

// A text that begins like an array, an object or a string must be one.
bool must_be_json(std::string_view text) {
  return !text.empty() && (text.front() == '[' || text.front() == '{' || text.front() == '"');
}

Json parse_value(const Source& line, std::size_t at, const std::string& text) {
  if (text.empty()) refuse(line, at, "a value is missing", "path=value; an empty text is \"\"");
  Diagnostics diagnostics;
  Json json = parse_json(std::make_shared<SourceFile>(SourceFile{line->path, text}), diagnostics);
  if (diagnostics.has_errors()) {
    if (must_be_json(text)) {
      const Diagnostic& first = diagnostics.all().front();
      refuse(line, at + first.place.column - 1, first.message, first.hint);
    }
    json = Json{};
    json.kind = Json::Kind::string;
    json.string = text;
    json.place = {line, 1, 1};
  }
  move_places(json, line, at);
  return json;
}

// Where the values of a list begin and end in `text`, which begins at `from`.
std::vector<std::pair<std::size_t, std::size_t>> split(const std::string& text, std::size_t from) {
  std::vector<std::pair<std::size_t, std::size_t>> parts;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = from;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{')) {
      ++depth;
    } else if (!quoted && (c == ']' || c == '}')) {
      --depth;
    } else if (!quoted && depth == 0 && c == ',') {
      parts.emplace_back(begin, i);
      begin = i + 1;
    }
  }
  parts.emplace_back(begin, text.size());
  return parts;
}

Source argument(const std::string& text) { return std::make_shared<SourceFile>(SourceFile{"--set", text}); }

std::size_t equals_sign(const Source& line) {
  const std::size_t at = line->text.find('=');
  if (at == std::string::npos || at == 0)
    refuse(line, 0, "this sets nothing", "path=value, as in training.micro_batch=2");
  return at;
}

std::string compact(const Json& json) {
  switch (json.kind) {
    case Json::Kind::string:
      return json.string;
    case Json::Kind::integer:
      return fmt::format("{}", json.integer);
    case Json::Kind::number:
      return fmt::format("{}", json.number);
    case Json::Kind::boolean:
      return json.boolean ? "true" : "false";
    case Json::Kind::null:
      return "null";
    case Json::Kind::array: {
      std::string text;
      for (const Json& item : json.items) text += (text.empty() ? "" : ",") + compact(item);
      return "[" + text + "]";
    }
    case Json::Kind::object: {
      std::string text;
      for (const JsonMember& member : json.members)
        text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", member.key, compact(member.value));
      return "{" + text + "}";
    }
  }
  return {};
}

}  // namespace

Assignment parse_assignment(const std::string& text) {
  const Source line = argument(text);
  const std::size_t at = equals_sign(line);
  Json value = parse_value(line, at + 1, text.substr(at + 1));
  std::string written = compact(value);
  return {text.substr(0, at), std::move(value), std::move(written)};
}

Axis parse_axis(const std::string& text) {
  const Source line = argument(text);
  const std::size_t at = equals_sign(line);
  Axis axis{text.substr(0, at), {}};
  const auto add = [&](Json value) {
    std::string written = compact(value);
    axis.values.push_back({axis.path, std::move(value), std::move(written)});
  };
  const auto parts = split(text, at + 1);
  for (const auto& [begin, end] : parts) {
    Json value = parse_value(line, begin, text.substr(begin, end - begin));
    if (parts.size() == 1 && value.is_array()) {
      for (Json& item : value.items) add(std::move(item));
    } else {
      add(std::move(value));
    }
  }
  if (axis.values.empty())
    refuse(line, at + 1, "the list of values is empty", "field=v1,v2 or field=[v1,v2]");
  return axis;
}

}  // namespace orrery::scenarios
