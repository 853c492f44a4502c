#include "sim/network/point_to_point.h"

#include <algorithm>

namespace orrery::sim {
namespace {

constexpr std::size_t kSimple = 2;

// Channels of one pair, that is thread blocks on both. Between machines: the default of
// NCCL_NCHANNELS_PER_NET_PEER (NCCL 2.12 to 2.2x, src/graph/paths.cc; later versions choose by NIC). Inside:
// assumed; NCCL derives it from the NVLinks between the two, and no measurement of ours tells how many SMs a
// pair holds.
constexpr int kNetworkPairChannels = 2, kInsidePairChannels = 8;

double latency_us(const hardware::Cluster& cluster, bool crosses, double hop_latency_us) {
  const Correction& correction = correction_of(cluster.gpu);
  if (!crosses) return correction.point_to_point_us;
  return ring_base_us(kSimple) * correction.latency + ring_hop_us(Hop::network, kSimple) + hop_latency_us;
}

}  // namespace

Estimate all_to_all_estimate(const CollectiveCall& call) {
  const GroupLinks& links = call.links;
  const double n = static_cast<double>(links.ranks), p = static_cast<double>(links.per_node);
  Estimate estimate;
  estimate.latency_us = latency_us(call.cluster, links.nodes > 1, links.hop_latency_us);
  double us_per_byte = 0.0;
  if (links.per_node > 1) {
    const Correction& correction = correction_of(call.cluster.gpu);
    const double plateau = links.nvswitch ? correction.all_to_all : links.nvlink ? correction.bandwidth : 1.0;
    us_per_byte = 1.0 / (n * links.pair_rate * plateau * 1000.0);
    estimate.port_bytes = call.bytes * (p - 1.0) / n;
  }
  if (links.nodes > 1) {
    estimate.machine_bytes = p * call.bytes * (n - p) / n;
    us_per_byte = std::max(us_per_byte, p * (n - p) / (n * links.exchange_bus * 1000.0));
  }
  estimate.bandwidth = 1.0 / (us_per_byte * 1000.0);
  estimate.choice_us = estimate.time_us(call.bytes);
  estimate.channels = used_channels(links.channels, call.bytes, scenarios::Protocol::simple, 1.0);
  return estimate;
}

Estimate pair_estimate(const hardware::Cluster& cluster, const PairLinks& links, double bytes) {
  const Correction& correction = correction_of(cluster.gpu);
  Estimate estimate;
  estimate.latency_us = latency_us(cluster, links.crosses, links.hop_latency_us);
  estimate.bandwidth = links.width;
  if (!links.crosses && links.nvlink)
    // On Volta a ring's plateau is above NCCL's number for its links; a pair is held to what its links are
    // said to carry.
    estimate.bandwidth *= std::min(1.0, links.nvswitch ? correction.pair : correction.bandwidth);
  estimate.port_bytes = links.crosses ? 0.0 : bytes;
  estimate.machine_bytes = links.crosses ? bytes : 0.0;
  estimate.choice_us = estimate.time_us(bytes);
  estimate.channels = used_channels(links.crosses ? kNetworkPairChannels : kInsidePairChannels, bytes,
                                    scenarios::Protocol::simple, 1.0);
  return estimate;
}

}  // namespace orrery::sim
