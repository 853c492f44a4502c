// Ring: every member sends to the next. all_reduce takes 2 (n - 1) steps of S / n bytes, reduce_scatter and all_gather
// n - 1, so with B the bus bandwidth of the ring
//
//     T = latency + (steps + fill) / n x S / B
//
// latency = base + (steps - between) x hop_inside + between x hop_network, of which 2 (N - 1) or N - 1 steps run between
// machines (NCCL src/graph/tuning.cc). fill = 1/2 inside one machine, from Ampere on: a step's chunk is passed on in two
// slices, of which the last is not overlapped (measured: 2, 3, 4, 8 GPUs take 1.25, 1.13, 1.08, 1.04 of the ideal time).
#pragma once

#include "sim/network/estimate.h"

namespace orrery::sim {

std::optional<Estimate> ring_estimate(const CollectiveCall& call, scenarios::Protocol protocol);

}  // namespace orrery::sim
