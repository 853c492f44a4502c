// What was asked, in the words of the scenario: model, cluster, plan, batch, recipe. One line each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenarios/scenario.h"

namespace orrery::sim {

std::vector<std::pair<std::string, std::string>> plan_lines(const scenarios::Scenario& scenario);

// "TP8 SP PP16 VPP8 DP128 ZeRO-1"
std::string short_plan(const scenarios::Scenario& scenario);

}  // namespace orrery::sim
