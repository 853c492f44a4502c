// Places are looked up by dotted path in the merged JSON, so that no second list of them can go stale.
#include "scenarios/draft.h"

namespace orrery::scenarios {
namespace {

struct Found {
  const Json* value = nullptr;  // null when the path ends early
  Place place;                  // of the innermost value on the way
};

Found walk(const Json& root, std::string_view path) {
  const Json* at = &root;
  Found found{nullptr, root.place};
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    at = at->find(path.substr(0, dot));
    if (at == nullptr) return found;
    found.place = at->place;
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
  }
  found.value = at;
  return found;
}

}  // namespace

bool Draft::written(std::string_view path) const {
  const Json* value = walk(json, path).value;
  return value != nullptr && !value->is_null();
}

Place Draft::at(std::string_view path) const { return walk(json, path).place; }

}  // namespace orrery::scenarios
