// What one algorithm with one protocol would do for one collective: one file per algorithm (ring, tree, nvls)
// fills this. `choice_us` is NCCL's own prediction, by which it chooses; `latency_us` and `bandwidth` are
// ours, with the corrections that measurement asks for (docs/models/network.md).
#pragma once

#include <optional>

#include "hardware/cluster.h"
#include "scenarios/scenario.h"
#include "schedule/op.h"
#include "sim/network/group_links.h"
#include "sim/network/nccl_constants.h"

namespace orrery::sim {

struct CollectiveCall {
  schedule::OpKind kind = schedule::OpKind::all_reduce;
  double bytes = 0.0;  // as nccl-tests counts: gathered size for all_gather, reduce_scatter
  const GroupLinks& links;
  const hardware::Cluster& cluster;
  bool ll128_forced = false;  // by the user: as NCCL_PROTO does, whatever the links are
};

struct Estimate {
  scenarios::Algorithm algorithm = scenarios::Algorithm::ring;
  scenarios::Protocol protocol = scenarios::Protocol::simple;
  double choice_us = 0.0;
  double latency_us = 0.0;
  double bandwidth = 0.0;      // GB/s of bytes / time, beyond the latency
  double port_bytes = 0.0;     // out of (and into) one member's NVLink ports or PCIe slot
  double machine_bytes = 0.0;  // out of (and into) the NICs of one machine
  int channels = 1;            // = thread blocks on each member
  double interference =
      0.0;  // k: latency l and transfer x do not overlap freely, which costs k l x / (l + x) more
  double time_us(double size) const {
    const double transfer = size / (1000.0 * bandwidth);
    return latency_us + transfer + interference * latency_us * transfer / (latency_us + transfer);
  }
};

// Steps of a ring, and the factor busbw / algbw = steps / n as nccl-tests defines it (broadcast: 1).
double ring_steps(schedule::OpKind kind, double ranks);
double bus_factor(schedule::OpKind kind, double ranks);

// LL128 needs NVLink inside and direct access of the NIC to GPU memory.
bool protocol_allowed(const CollectiveCall& call, scenarios::Protocol protocol);

// Channels left after NCCL drops those that would have too little to do. `ranks_in_threshold`: ranks
// over which the bytes of LL's threshold are counted (a ring's: all; a tree's or a pair's: 1).
int used_channels(int channels, double bytes, scenarios::Protocol protocol, double ranks_in_threshold);

}  // namespace orrery::sim
