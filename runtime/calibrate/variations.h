// The grid around a scenario: the same scenario with one thing changed, so that kernels of other widths,
// lengths and plans are found between measured sizes and not beyond them. Each is a list of "path=value" for
// scenarios/override.h; those that the rules of scenarios refuse are left out by whoever resolves them.
//
//   hidden x 2, / 2            with heads and MLP; the head's dimension stays
//   sequence x 2, / 2, x 3/2   with the position table
//   plans                      every way to use the same ranks: data (ZeRO 0, 1, 3), tensor (with sequence
//                              parallelism and without), pipeline, and pairs of them
//   batch x 2, / 2             of a microbatch
//   heads x 2, / 2             of half, of twice the dimension
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace orrery::runtime {

struct Variation {
  std::string name;               // "hidden x 2"
  std::vector<std::string> sets;  // "training.sequence_length=256"
};

// In the order of what they are worth.
std::vector<Variation> variations_of(const scenarios::Scenario& scenario);

// What makes a scenario shorter and changes no kernel: fewer layers and microbatches.
Variation shorter(const scenarios::Scenario& scenario, std::int64_t layers, std::int64_t microbatches);

}  // namespace orrery::runtime
