// Compiles a legal Scenario into a Schedule: builders append compute order, passes add the rest.
#pragma once

#include "scenarios/scenario.h"
#include "schedule/ir.h"

namespace orrery::schedule {

Schedule compile(const scenarios::Scenario& scenario);

}  // namespace orrery::schedule
