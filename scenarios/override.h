// One field of a scenario set from outside, as `sweep` and the command line do.
#pragma once

#include <string_view>

#include "base/json.h"

namespace orrery::scenarios {

// `scenario` (bases not yet merged) with the value at a dotted path ("training.micro_batch", "cluster.nodes")
// set. Setting a part of a model or cluster that is named by path refines that file; so does setting it where
// only a base names it. Throws InputError for a path that names no field, with the nearest that does.
Json apply_override(Json scenario, std::string_view dotted_path, const Json& value);

}  // namespace orrery::scenarios
