// Grouped sends and receives: one pair, or all to all. NCCL moves them with the Simple protocol, each pair on a few
// channels, outside of its tuning table.
//
//     one pair:    T = latency + S / width        width: the narrowest link; over NVSwitch 0.81 of the port (measured:
//                                                  195 of 240 GB/s, nccl-tests sendrecv, 8 x A100)
//     all to all:  T = latency + max(S / (n pair_rate), p S (n - p) / (n exchange))    over NVSwitch 0.74 to 0.86 of it
//
// with n members, p on a machine, S the buffer of one member, pair_rate what all pairs inside can do at once, exchange
// the NIC bandwidth of a machine. Latency: measured inside a machine; between machines the base and one Simple network
// hop of NCCL's model.
#pragma once

#include "sim/network/estimate.h"

namespace orrery::sim {

Estimate all_to_all_estimate(const CollectiveCall& call);

struct PairLinks {
  bool crosses = false;
  bool nvlink = false;
  bool nvswitch = false;
  double width = 0.0;           // GB/s
  double hop_latency_us = 0.0;
};
Estimate pair_estimate(const hardware::Cluster& cluster, const PairLinks& links, double bytes);

}  // namespace orrery::sim
