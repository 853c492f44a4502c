// Chooses algorithm and protocol as NCCL does: of all combinations that exist and are allowed, the one that
// NCCL's own model predicts to be fastest. A user can force either. A collective that has not both keeps the
// algorithm, else the protocol, else neither; `forced_in_vain` says so.
#pragma once

#include "sim/network/estimate.h"

namespace orrery::sim {

struct Choice {
  Estimate estimate;
  bool forced_in_vain = false;
};
Choice choose(CollectiveCall call, const scenarios::Network& wanted);

const char* name(scenarios::Algorithm algorithm);
const char* name(scenarios::Protocol protocol);

}  // namespace orrery::sim
