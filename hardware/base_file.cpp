#include "hardware/base_file.h"

#include <string>
#include <vector>

#include "base/inherit.h"

namespace orrery::hardware {
namespace {

void remove_nulls(Json& object) {
  std::erase_if(object.members, [](const JsonMember& member) { return member.value.is_null(); });
  for (JsonMember& member : object.members) remove_nulls(member.value);
}

}  // namespace

Json resolve_base(const Json& value, Diagnostics& diagnostics, std::string_view what) {
  Json object = object_or_file(value, std::string(what), diagnostics);
  remove_nulls(object);
  return object;
}

}  // namespace orrery::hardware
