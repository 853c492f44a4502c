// Scenarios side by side, one column each, and predicted beside measured where a scenario says what was
// measured.
#pragma once

#include <span>
#include <string>

#include "sim/report/compared.h"

namespace orrery::sim {

// Columns wrap into further tables when they do not fit in 100 columns of text.
std::string compare_report(std::span<const Compared> columns);

}  // namespace orrery::sim
