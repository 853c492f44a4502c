// What a scenario says was measured, beside what is predicted of it. A measured communication share whose meaning is
// not known is shown against both meanings (all transfers; those that no computation hides).
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "sim/metrics/result.h"

namespace orrery::sim {

struct MeasuredRow {
  std::string what;       // "step time", "communication (total)"
  std::string unit;       // "s", "GB", "%"
  double measured = 0.0, predicted = 0.0;  // in `unit`
  double error() const { return predicted / measured - 1.0; }
};
std::vector<MeasuredRow> measured_rows(const scenarios::Scenario& scenario, const Result& result);

}  // namespace orrery::sim
