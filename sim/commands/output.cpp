#include "sim/commands/output.h"

#include <fmt/format.h>

#include <cstdio>

namespace orrery::sim {

void say(std::string_view message) { fmt::print(stderr, "{}\n", message); }

}  // namespace orrery::sim
