// One plan through compiler and interpreter, and what the reference model says about the same job. A plan is right
// when losses, gradients and updated weights agree; it is right by construction of the batch, which is the same set
// of sequences for every plan with the same global batch.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "tests/interpreter/executor.h"
#include "tests/interpreter/placement.h"

namespace orrery::interpreter {

struct Outcome {
  std::vector<double> losses;  // of each step
  NamedTensors gradients;      // of the last step, before clipping
  NamedTensors weights;        // after it: the optimizer's own copy
};

// One rank, one microbatch of the whole batch, no recomputation: the plainest legal scenario for the architecture.
scenarios::Scenario plain_scenario(const models::Architecture& a);
// Cuts layers and batch as parallel.{tp, pp, dp, vpp} and training.micro_batch say; stages are even unless given.
void resolve(scenarios::Scenario& scenario);

Outcome run_plan(const scenarios::Scenario& scenario, const RunOptions& options);
Outcome reference_outcome(const scenarios::Scenario& scenario, std::int64_t steps);

// Empty when they agree: losses to 1e-10 relative, gradients and weights to 1e-9 of their norms.
std::string difference(const Outcome& plan, const Outcome& reference);

}  // namespace orrery::interpreter
