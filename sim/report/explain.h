// Each headline number with its formula, the numbers that went into it, and where they come from.
#pragma once

#include <string>

#include "scenarios/scenario.h"
#include "sim/metrics/result.h"

namespace orrery::sim {

std::string explain(const scenarios::Scenario& scenario, const Result& result);

}  // namespace orrery::sim
