#include "hardware/base_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/data_root.h"

namespace orrery::hardware {
namespace {

using Chain = std::vector<std::string>;  // the files being read, outermost first
constexpr std::size_t kMaxDepth = 16;    // of bases of bases; also ends circles whose paths are spelled differently

Json resolve(const Json& value, Diagnostics& diagnostics, std::string_view what, Chain& chain);

Json resolve_file(const Json& path, Diagnostics& diagnostics, std::string_view what, Chain& chain) {
  const std::string file = find_file(path.string, path.place.source.get());
  if (file.empty()) {
    diagnostics.error(path.place, fmt::format("{} '{}' is not there", what, path.string),
                      "a path relative to this file, to the working directory or to Orrery's data");
    return {};
  }
  if (chain.size() >= kMaxDepth || std::find(chain.begin(), chain.end(), file) != chain.end()) {
    diagnostics.error(path.place, fmt::format("'{}' is its own base, or bases are nested too deep", path.string), "break the circle of bases");
    return {};
  }
  Json json;
  try {
    json = parse_json(read_source(file), diagnostics);
  } catch (const InputError& error) {
    diagnostics.error(path.place, error.what());
    return {};
  }
  if (json.is_null()) return json;  // a syntax error, already reported
  chain.push_back(file);
  Json resolved = resolve(json, diagnostics, what, chain);
  chain.pop_back();
  return resolved;
}

Json without_base(const Json& object) {
  Json copy = object;
  std::erase_if(copy.members, [](const JsonMember& member) { return member.key == "base"; });
  return copy;
}

void remove_nulls(Json& object) {
  std::erase_if(object.members, [](const JsonMember& member) { return member.value.is_null(); });
  for (JsonMember& member : object.members) remove_nulls(member.value);
}

Json resolve(const Json& value, Diagnostics& diagnostics, std::string_view what, Chain& chain) {
  if (!value.is_object()) {
    diagnostics.error(value.place, fmt::format("{} is {}", what, kind_name(value.kind)),
                      "an object, or the path of a file that holds one");
    return {};
  }
  const Json* base = value.find("base");
  if (base == nullptr) return value;
  if (!base->is_string()) {
    diagnostics.error(base->place, fmt::format("base is {}", kind_name(base->kind)), "the path of a file, a string");
    return {};
  }
  const Json under = resolve_file(*base, diagnostics, what, chain);
  if (under.is_null()) return {};
  Json merged = merge(under, without_base(value));
  merged.place = value.place;
  remove_nulls(merged);
  return merged;
}

}  // namespace

Json resolve_base(const Json& value, Diagnostics& diagnostics, std::string_view what) {
  Chain chain;
  if (value.place.source) chain.push_back(find_file(value.place.source->path, nullptr));
  if (value.is_string()) return resolve_file(value, diagnostics, what, chain);
  return resolve(value, diagnostics, what, chain);
}

}  // namespace orrery::hardware
