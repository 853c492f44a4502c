// One row of a sweep, as text cells: which combination, how it went, the result of `run --csv`, and, where
// the scenario says what was measured, ln(predicted / measured). Rows are the same whether they were just
// computed or read back.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/commands/sweep_plan.h"

namespace orrery::sim {

using SweepRow = std::vector<std::string>;

// index, sweep, file, one column a field, status ("fits", "risky", "does not fit", "illegal"), reason, the
// result's columns, log_error.*.
std::vector<std::string> sweep_columns(const SweepPlan& plan);

// An illegal combination is a row with its reason; whatever else goes wrong is thrown.
SweepRow evaluate(const SweepPlan& plan, std::size_t index);

}  // namespace orrery::sim
