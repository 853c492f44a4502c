// What a scenario says was measured, beside what is predicted of it. A measured communication share whose
// meaning is not known is shown against both meanings (all transfers; those that no computation hides).
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "sim/metrics/result.h"

namespace orrery::sim {

struct MeasuredRow {
  std::string what;                        // "step time", "communication (total)"
  std::string unit;                        // "s", "B", "fraction", "TFLOP/s", "1/s"
  double measured = 0.0, predicted = 0.0;  // in `unit`
  double error() const { return predicted / measured - 1.0; }
};
std::vector<MeasuredRow> measured_rows(const scenarios::Scenario& scenario, const Result& result);

// "9.69 s", "18.6 GB", "35.0 %", "146"
std::string quantity_text(double value, const std::string& unit);

}  // namespace orrery::sim
