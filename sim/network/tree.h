// Double binary tree over machines, a chain inside each; all_reduce only. Half of the data goes up and down each tree, so
// between more than three machines a NIC carries twice the data each way (as a ring does), between two machines once:
// that is why the busbw of two machines can exceed their NICs.
//
//     T = base + 2 ((p - 1) x hop_inside + floor(log2 N) x hop_network) + S / B
//
// with NCCL's factor on B by size (src/graph/tuning.cc, treeCorrectionFactor).
#pragma once

#include "sim/network/estimate.h"

namespace orrery::sim {

std::optional<Estimate> tree_estimate(const CollectiveCall& call, scenarios::Protocol protocol);

}  // namespace orrery::sim
