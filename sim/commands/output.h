// What a command says besides its results, which go through an Output.
#pragma once

#include <string_view>

#include "base/output.h"

namespace orrery::sim {

// One message for people, on stderr.
void say(std::string_view message);

}  // namespace orrery::sim
