// One object of a scenario file, read on its own: its problems are collected apart, so that whether it went
// well is known, and an absent object reads as an empty one.
#pragma once

#include <string>
#include <utility>

#include "base/object_reader.h"
#include "base/inherit.h"

namespace orrery::scenarios {

// Reads root[key] with `read(ObjectReader&)`; returns true when no value in it was wrong.
template <typename Read>
bool read_section(const Json& root, const std::string& key, Diagnostics& diagnostics, Read&& read) {
  Diagnostics found;
  Json absent;
  absent.kind = Json::Kind::object;
  absent.place = root.place;
  const Json* section = root.find(key);
  ObjectReader reader(section == nullptr || section->is_null() ? absent : *section, found, key);
  std::forward<Read>(read)(reader);
  const bool good =
      !found.has_errors();  // an unknown key spoils no value: what was read is checked all the same
  reader.finish();
  forward(found, diagnostics);
  return good;
}

}  // namespace orrery::scenarios
