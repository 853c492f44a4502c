// A hardware file, or an object or path that stands for one, with its bases laid under it (base/inherit.h). In
// hardware a null removes what a base says: `"fabric": null`.
#pragma once

#include <string_view>

#include "base/diagnostics.h"
#include "base/json.h"

namespace orrery::hardware {

// `what` names it in messages ("cluster"). Problems go to `diagnostics`; the result is then null.
Json resolve_base(const Json& value, Diagnostics& diagnostics, std::string_view what);

}  // namespace orrery::hardware
