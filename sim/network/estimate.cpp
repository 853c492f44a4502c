#include "sim/network/estimate.h"

#include <algorithm>
#include <cmath>

namespace orrery::sim {

using scenarios::Protocol;
using schedule::OpKind;

double ring_steps(OpKind kind, double ranks) {
  if (kind == OpKind::all_reduce) return 2.0 * (ranks - 1.0);
  if (kind == OpKind::broadcast) return ranks;
  return ranks - 1.0;
}

double bus_factor(OpKind kind, double ranks) {
  return kind == OpKind::broadcast ? 1.0 : ring_steps(kind, ranks) / ranks;
}

bool protocol_allowed(const CollectiveCall& call, Protocol protocol) {
  if (protocol != Protocol::ll128 || call.ll128_forced) return true;
  if (!call.links.nvlink) return false;
  return call.links.nodes == 1 || call.cluster.fabric.transport == hardware::Transport::rdma;
}

int used_channels(int channels, double bytes, Protocol protocol, double ranks_in_threshold) {
  double threads = 512.0, bytes_per_thread = 8.0;
  if (protocol == Protocol::ll) bytes_per_thread *= ranks_in_threshold;
  if (protocol == Protocol::ll128) threads = 640.0;
  if (protocol == Protocol::simple) bytes_per_thread = 64.0;
  return static_cast<int>(std::clamp(std::ceil(bytes / (threads * bytes_per_thread)), 1.0, static_cast<double>(channels)));
}

}  // namespace orrery::sim
