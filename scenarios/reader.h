// From JSON (bases merged) to a Draft: every key read, typed and bounded; unknown ones reported. What depends
// on the whole plan (dp, batches, stages) is solved later; what depends on the framework is read by
// read_policy_parts, when the plan is known.
#pragma once

#include "scenarios/draft.h"

namespace orrery::scenarios {

Draft read_draft(Json merged, Diagnostics& diagnostics);

// "recipe", "overlap", "kernels", "offload", "compression", "network", over the defaults of the framework's
// policy.
void read_policy_parts(Draft& draft, Diagnostics& diagnostics);

}  // namespace orrery::scenarios
