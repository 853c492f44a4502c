// What verify says of a schedule, for the commands that show it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedule/ir.h"
#include "schedule/verify.h"

namespace orrery::sim {

std::string shape_of(const schedule::Schedule& schedule);  // "4 programs for 128 ranks, 1,204 ops"

// "sound", "not sound", or "not checked in full" where it is too large.
std::string_view findings_word(const std::vector<schedule::Finding>& findings);

// Each finding indented, with its lines (a wait cycle, one op a line) below it.
std::string findings_text(const std::vector<schedule::Finding>& findings);

}  // namespace orrery::sim
