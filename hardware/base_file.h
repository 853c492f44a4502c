// Inheritance between files: an object with "base": "other.json" is laid over that file's object, member by member
// (arrays are replaced whole; null removes a member), bases of bases included. A value that is a string where an
// object is wanted is the path of a file. Paths are found as base/data_root.h says.
#pragma once

#include <string_view>

#include "base/diagnostics.h"
#include "base/json.h"

namespace orrery::hardware {

// The object that `value` (an object, or the path of a file) stands for, without "base"; `what` names it in messages
// ("a cluster"). Problems (missing file, a circle of bases, no object) go to `diagnostics`; the result is then null.
Json resolve_base(const Json& value, Diagnostics& diagnostics, std::string_view what);

}  // namespace orrery::hardware
