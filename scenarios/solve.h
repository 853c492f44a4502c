// The solving rules, one file each; the table is in solve.cpp.
#pragma once

#include "scenarios/rules.h"

namespace orrery::scenarios {

void solve_world(Draft& draft, Diagnostics& diagnostics);
void solve_context(Draft& draft, Diagnostics& diagnostics);  // ulysses
void solve_batch(Draft& draft, Diagnostics& diagnostics);
void solve_chunks(Draft& draft, Diagnostics& diagnostics);  // vpp and the schedule
void split_layers(Draft& draft, Diagnostics& diagnostics);  // layers_of_stage

}  // namespace orrery::scenarios
