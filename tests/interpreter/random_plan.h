// Plans drawn at random from the space of legal ones: combinations nobody thought of. Every draw is keyed by the plan's
// number, so a failing plan can be run alone by its number.
#pragma once

#include <cstdint>
#include <string>

#include "scenarios/scenario.h"

namespace orrery::interpreter {

scenarios::Scenario random_plan(std::uint64_t number);
std::string describe(const scenarios::Scenario& plan);

}  // namespace orrery::interpreter
