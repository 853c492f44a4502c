// Objects on the way to the field are made where they are missing; nothing is resolved here.
#include "scenarios/override.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/inherit.h"
#include "scenarios/fields.h"

namespace orrery::scenarios {
namespace {

[[noreturn]] void refuse(std::string_view path) {
  std::vector<std::string> known, last_words;
  for (const Field& field : fields()) {
    known.emplace_back(field.path);
    last_words.push_back(known.back().substr(known.back().rfind('.') + 1));
  }
  std::string near = nearest_word(path, known);
  if (const auto at = std::find(last_words.begin(), last_words.end(), path); at != last_words.end())
    near = known[static_cast<std::size_t>(at - last_words.begin())];  // "tp" for "parallel.tp"
  throw InputError(fmt::format("error: \"{}\" names no field of a scenario\n  hint: {}\n", path,
                               near.empty() ? "paths look like training.micro_batch or cluster.nodes"
                                            : fmt::format("did you mean \"{}\"?", near)));
}

Json object_at(const Place& place) {
  Json object;
  object.kind = Json::Kind::object;
  object.place = place;
  return object;
}

// The member as an object to set something in: a path becomes an object based on it, anything else but an
// object is replaced.
Json& object_member(Json& parent, const std::string& key) {
  Json* member = parent.find(key);
  if (member == nullptr) {
    add_member(parent, key, object_at(parent.place));
    return *parent.find(key);
  }
  if (member->is_object()) return *member;
  Json object = object_at(member->place);
  if (member->is_string() && may_name_file(key)) add_member(object, "base", *member);
  *member = std::move(object);
  return *member;
}

}  // namespace

Json apply_override(Json scenario, std::string_view dotted_path, const Json& value) {
  if (!is_field_path(dotted_path)) refuse(dotted_path);
  if (!scenario.is_object()) throw InputError("error: the scenario is no object\n");
  Json* at = &scenario;
  std::string_view rest = dotted_path;
  for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    at = &object_member(*at, std::string(rest.substr(0, dot)));
    rest.remove_prefix(dot + 1);
  }
  if (rest.empty()) refuse(dotted_path);
  if (Json* there = at->find(rest))
    *there = value;
  else
    add_member(*at, std::string(rest), value);
  return scenario;
}

}  // namespace orrery::scenarios
