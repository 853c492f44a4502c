// The same training on one rank, and how far a plan may be from it.
#pragma once

#include <string>

#include "tests/runtime/run/plan_outcome.h"

namespace orrery::runtime {

struct Tolerances {
  double loss = 0.0, tensor = 0.0;  // relative; a tensor's to its norm
};
inline constexpr Tolerances kFloat{1e-5, 1e-4}, kDouble{1e-9, 1e-9};

// One rank, one microbatch, nothing recomputed.
scenarios::Scenario one_rank(const scenarios::Scenario& s);

// Empty where they agree. Gradients and weights are compared to their norms; of weights with a floor of learning rate x
// sqrt(n), since Adam turns the rounding of a gradient near zero into a step of that size.
std::string difference(const PlanOutcome& plan, const PlanOutcome& one, double learning_rate, const Tolerances& t);

// Runs both.
std::string difference_from_one_rank(const scenarios::Scenario& scenario, const Tolerances& tolerances, bool in_double,
                                     std::int64_t steps);

}  // namespace orrery::runtime
