// How long the parts of a microbatch take on each rank of the pipeline, relative to each other: by their FLOPs. For
// schedulers that weigh ranks against each other; nobody takes them for times.
#pragma once

#include <vector>

#include "schedule/compile/pipeline_order.h"

namespace orrery::schedule {

std::vector<StageTimes> stage_times(const scenarios::Scenario& scenario, const Placement& placement);

}  // namespace orrery::schedule
