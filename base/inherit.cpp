// Bases are merged from the outermost file inwards; a chain of canonical paths finds circles. A string keeps
// the place where it stands, so a path is always looked for beside the file that wrote it, wherever it was
// merged to. Cost: one reading of each file, and one copy of its JSON per level.
#include "base/inherit.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/data_root.h"

namespace orrery {
namespace {

constexpr std::size_t kChainMax = 16;

using Chain = std::vector<std::string>;  // canonical paths of the files that led here

Json inherit_from(const Json& json, const Chain& chain, Diagnostics& diagnostics);

// File names in the directory of `named`, for "did you mean".
std::vector<std::string> neighbours(const std::string& named, const SourceFile* from) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::path(named).parent_path();
  std::vector<fs::path> places = {fs::path(data_root()) / directory, directory.empty() ? "." : directory};
  if (from != nullptr) places.push_back(fs::path(from->path).parent_path() / directory);
  std::vector<std::string> names;
  for (const fs::path& place : places) {
    std::error_code failure;
    for (fs::directory_iterator it(place, failure), end; !failure && it != end; it.increment(failure))
      if (it->path().extension() == ".json") names.push_back((directory / it->path().filename()).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string missing_file_hint(const std::string& named, const SourceFile* from) {
  const std::string near = nearest_word(named, neighbours(named, from));
  if (!near.empty()) return fmt::format("did you mean \"{}\"?", near);
  return "looked beside this file, in the working directory and in the data that ships with Orrery";
}

// The file that a string names, parsed and inherited; a null value when that fails.
Json load(const Json& name, const std::string& what, const Chain& chain, Diagnostics& diagnostics) {
  const SourceFile* from = name.place.source.get();
  const std::string path = find_file(name.string, from);
  if (path.empty()) {
    diagnostics.error(name.place, fmt::format("{}: there is no file \"{}\"", what, name.string),
                      missing_file_hint(name.string, from));
    return {};
  }
  std::error_code failure;
  const std::string canonical = std::filesystem::weakly_canonical(path, failure).string();
  if (std::find(chain.begin(), chain.end(), canonical) != chain.end()) {
    diagnostics.error(name.place, fmt::format("{} leads back to \"{}\", which leads here", what, name.string),
                      "break the circle of bases");
    return {};
  }
  if (chain.size() >= kChainMax) {
    diagnostics.error(name.place, fmt::format("{} is nested more than {} files deep", what, kChainMax));
    return {};
  }
  Json json;
  Diagnostics syntax;
  try {
    json = parse_json(read_source(path), syntax);
  } catch (const InputError& error) {
    diagnostics.error(name.place, fmt::format("{} cannot be read", what), error.what());
    return {};
  }
  forward(syntax, diagnostics);
  if (!json.is_object()) {
    if (!syntax.has_errors())
      diagnostics.error(json.place,
                        fmt::format("{} must be an object, found {}", what, kind_name(json.kind)));
    return {};
  }
  Chain longer = chain;
  longer.push_back(canonical);
  return inherit_from(json, longer, diagnostics);
}

// An object laid on a path means: that file, refined.
Json refine_paths(const Json& under, Json over) {
  for (JsonMember& member : over.members) {
    if (!may_name_file(member.key) || !member.value.is_object() || member.value.find("base") != nullptr)
      continue;
    const Json* path = under.find(member.key);
    if (path != nullptr && path->is_string()) add_member(member.value, "base", *path);
  }
  return over;
}

void drop(Json& object, std::string_view key) {
  std::erase_if(object.members, [&](const JsonMember& member) { return member.key == key; });
}

Json inherit_from(const Json& json, const Chain& chain, Diagnostics& diagnostics) {
  if (!json.is_object()) return json;
  Json result = json;
  drop(result, "base");
  const Json* base = json.find("base");
  if (base != nullptr && base->is_string()) {
    const Json under = load(*base, "base", chain, diagnostics);
    if (under.is_object()) result = merge(under, refine_paths(under, std::move(result)));
  } else if (base != nullptr && !base->is_null()) {
    diagnostics.error(base->place, "base must be the path of a file", "\"base\": \"other.json\"");
  }
  return result;
}

}  // namespace

void forward(const Diagnostics& from, Diagnostics& to) {
  for (const Diagnostic& found : from.all()) {
    if (found.severity == Severity::error)
      to.error(found.place, found.message, found.hint);
    else
      to.warning(found.place, found.message, found.hint);
  }
}

bool may_name_file(const std::string& key) { return key == "model" || key == "cluster" || key == "gpu"; }

void add_member(Json& object, const std::string& key, Json value) {
  JsonMember member;
  member.key = key;
  member.key_place = value.place;
  member.value = std::move(value);
  object.members.push_back(std::move(member));
}

Json inherit(const Json& json, Diagnostics& diagnostics) {
  Chain chain;
  if (json.place.source) {
    std::error_code failure;
    chain.push_back(std::filesystem::weakly_canonical(json.place.source->path, failure).string());
  }
  return inherit_from(json, chain, diagnostics);
}

Json object_or_file(const Json& value, const std::string& what, Diagnostics& diagnostics) {
  if (!value.is_string() && !value.is_object()) {
    diagnostics.error(value.place, fmt::format("{} must be the path of a file or an object, found {}", what,
                                               kind_name(value.kind)));
    return {};
  }
  Json object = value.is_string() ? load(value, what, {}, diagnostics) : inherit_from(value, {}, diagnostics);
  Json* gpu = object.find("gpu");
  if (gpu != nullptr && gpu->is_object()) *gpu = inherit_from(*gpu, {}, diagnostics);
  return object;
}

}  // namespace orrery
