// NVLS: the NVSwitches add and multicast (NVLink SHARP), so on one machine an all_reduce moves each byte through a port
// about once each way instead of twice. Between machines NVLS-tree combines it with a tree over machines. Simple only.
//
// Per channel NCCL takes intra = bus x efficiency x (channels - 1) / channels, doubled for all_reduce (two operations are
// pipelined), and T = 25 us (+ 2 floor(log2 N) x 20.9 us) + S steps / (n B). Measured plateaus are 0.83 of that
// (H100: 274 of 328 GB/s, B300: 477 of 584), and are reached late: 80 us x S / (S + 16 MB) more (H100, two tables).
#pragma once

#include "sim/network/estimate.h"

namespace orrery::sim {

std::optional<Estimate> nvls_estimate(const CollectiveCall& call);
std::optional<Estimate> nvls_tree_estimate(const CollectiveCall& call);

}  // namespace orrery::sim
