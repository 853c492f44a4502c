#include "sim/network/ring.h"

#include <algorithm>

namespace orrery::sim {
namespace {

using scenarios::Protocol;
using schedule::OpKind;

// NCCL's bus bandwidth of a protocol, from that of the links.
double protocol_bus(const CollectiveCall& call, Protocol protocol, double bus) {
  const GroupLinks& links = call.links;
  const ArchitectureLimits& limits = limits_of(call.cluster.gpu);
  const double ll_max = links.nodes == 1 ? limits.ll_max : ll_max_between_machines(call.cluster.node.cpu_vendor, links.nodes);
  if (protocol == Protocol::ll) return std::min(ll_max, 0.5 * bus);
  if (protocol == Protocol::ll128) return std::min(0.92 * bus, links.channels * limits.ring_ll128[scale_column(links.nodes)]);
  return bus;
}

struct Latency {
  double base, inside, between;  // us
};

// `overhead_us`: NCCL assumes that each step inside a machine costs at least this when a network is involved. It steers
// the choice; measured times do not show it.
Latency latency(const CollectiveCall& call, Protocol protocol, double overhead_us) {
  const GroupLinks& links = call.links;
  const std::size_t p = column(protocol);
  const double steps = ring_steps(call.kind, static_cast<double>(links.ranks));
  const auto nodes = static_cast<double>(links.nodes);
  double between = links.nodes == 1 ? 0.0 : (call.kind == OpKind::all_reduce ? 2.0 : 1.0) * (nodes - 1.0);
  double inside = steps - between;
  if (call.kind == OpKind::broadcast) {  // a pipeline: its depth counts once
    inside = 1.0;
    between = links.nodes == 1 ? 0.0 : 1.0;
  }
  const double hop = ring_hop_us(links.nvlink ? Hop::nvlink : Hop::pcie, p);
  const double network = links.per_node == 1 ? tree_hop_us(Hop::network, p) : ring_hop_us(Hop::network, p);
  return {ring_base_us(p), inside * std::max(hop, overhead_us), between * (network + links.hop_latency_us)};
}

// Simple all_reduce over several machines: NCCL lengthens the latency (tuning.cc, ncclTopoGetAlgoTime).
double long_ring_factor(const CollectiveCall& call, Protocol protocol) {
  const GroupLinks& links = call.links;
  if (protocol != Protocol::simple || call.kind != OpKind::all_reduce || links.nodes == 1) return 1.0;
  if (call.bytes / (static_cast<double>(links.channels) * static_cast<double>(links.ranks)) < 64.0) return 1.0;
  return call.cluster.gpu.compute_capability < 80 ? 1.9 : 1.4;
}

}  // namespace

std::optional<Estimate> ring_estimate(const CollectiveCall& call, Protocol protocol) {
  if (!protocol_allowed(call, protocol)) return std::nullopt;
  const GroupLinks& links = call.links;
  const Correction& correction = correction_of(call.cluster.gpu);
  const auto ranks = static_cast<double>(links.ranks);
  const double factor = bus_factor(call.kind, ranks);
  const double longer = long_ring_factor(call, protocol);
  const double amd = call.cluster.node.cpu_vendor == "amd" ? 2.0 : 1.0;
  const double overhead = links.nodes == 1 ? 0.0 : amd * (protocol == Protocol::simple ? 3.0 : 1.0);

  Estimate estimate;
  estimate.algorithm = scenarios::Algorithm::ring;
  estimate.protocol = protocol;
  const double bus = protocol_bus(call, protocol, links.ring_bus);
  const Latency chosen_by = latency(call, protocol, overhead);
  estimate.choice_us = (chosen_by.base + chosen_by.inside + chosen_by.between) * longer +
                       call.bytes * factor / (1000.0 * bus);

  const Latency real = latency(call, protocol, 0.0);
  estimate.latency_us = ((real.base + real.inside) * correction.latency + real.between) * longer +
                        (protocol == Protocol::simple ? correction.simple_extra_us : 0.0);
  const bool one_machine = links.nodes == 1;
  const double steps = ring_steps(call.kind, ranks);
  const double plateau = one_machine && links.nvlink ? correction.bandwidth : 1.0;
  const double fill = one_machine && links.nvlink ? (steps + correction.fill) / steps : 1.0;
  estimate.bandwidth = bus * plateau / (factor * fill);
  estimate.port_bytes = factor * call.bytes * (one_machine ? 1.0 : 1.0 - 1.0 / static_cast<double>(links.per_node));
  estimate.machine_bytes = one_machine ? 0.0 : factor * call.bytes;
  estimate.channels = used_channels(links.channels, call.bytes, protocol, ranks);
  return estimate;
}

}  // namespace orrery::sim
