// A checkpoint of one plan loaded under another: each rank of the second holds, of each tensor, what training made of
// it under the first, rounded as the second keeps it; rows of padding that the first has not are as initialised; the
// rest is 0.
#pragma once

#include <cstddef>
#include <string>

#include "tests/runtime/state/saved_jobs.h"

namespace orrery::runtime {

// The first element of `to` that is not what loading a checkpoint of `from` (in its trained state) should give; ""
// when all are. `fresh`: the second plan's job as initialised.
std::string reshard_difference(const Job& from, Job& to, Job& fresh);

// From plan `from` of the model to every `stride`-th plan. Does nothing where the model has fewer plans.
void expect_reshards(const models::Architecture& a, std::size_t from, std::size_t stride);

}  // namespace orrery::runtime
