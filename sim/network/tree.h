// Double binary tree over machines, a chain inside each; all_reduce only. Half of the data goes up and down each tree, so
// between more than three machines a NIC carries twice the data each way (as a ring does), between two machines once:
// that is why the busbw of two machines can exceed their NICs.
//
//     T = base + 2 ((p - 1) x hop_inside + floor(log2 N) x hop_network) + S / B
//
// with NCCL's factor on B by size (src/graph/tuning.cc, treeCorrectionFactor). NCCL's LL constant of a network hop holds
// for messages up to 256 B; measured, a hop takes 4 us more from 4 KiB on (V100 EDR on 4, 8, 16 machines: 4.5, 3.7, 4.5;
// A100 HDR: 3; B200 NDR: 3), growing with the logarithm of the size between.
#pragma once

#include "sim/network/estimate.h"

namespace orrery::sim {

std::optional<Estimate> tree_estimate(const CollectiveCall& call, scenarios::Protocol protocol);

}  // namespace orrery::sim
