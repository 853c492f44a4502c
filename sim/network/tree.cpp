#include "sim/network/tree.h"

#include <algorithm>
#include <cmath>

namespace orrery::sim {
namespace {

using scenarios::Protocol;

constexpr double kNcclShare = 0.92;

// What a network hop of an LL message costs beyond NCCL's constant, us.
double loaded_hop_us(double bytes, Protocol protocol) {
  if (protocol != Protocol::ll || bytes <= 256.0) return 0.0;
  return 4.0 * std::min(1.0, std::log2(bytes / 256.0) / 4.0);
}

// NCCL counts on 0.92 of the links. Between machines measured trees fill the NICs as rings do (two machines of 4 V100 with
// two EDR NICs: 23.74 of 25 GB/s), so `share` is 1 there when we predict, 0.92 when NCCL chooses.
double protocol_bus(const CollectiveCall& call, Protocol protocol, double share) {
  const GroupLinks& links = call.links;
  const ArchitectureLimits& limits = limits_of(call.cluster.gpu);
  const std::size_t scale = scale_column(links.nodes);
  const double channels = links.channels;
  const double bus = std::min(share * links.tree_bus, channels * limits.tree[scale]);
  const double ll_max = links.nodes == 1 ? limits.ll_max : ll_max_between_machines(call.cluster.node.cpu_vendor, links.nodes);
  if (protocol == Protocol::ll) return std::min(bus / 3.8, ll_max);
  if (protocol == Protocol::ll128)
    return std::min(bus * (links.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0), channels * limits.tree_ll128[scale]);
  return bus;
}

}  // namespace

std::optional<Estimate> tree_estimate(const CollectiveCall& call, Protocol protocol) {
  if (call.kind != schedule::OpKind::all_reduce || !protocol_allowed(call, protocol)) return std::nullopt;
  const GroupLinks& links = call.links;
  const Correction& correction = correction_of(call.cluster.gpu);
  const std::size_t p = column(protocol);
  const double inside = 2.0 * static_cast<double>(links.per_node - 1) *
                        tree_hop_us(links.nvlink ? Hop::nvlink : Hop::pcie, p);
  const double depth = std::floor(std::log2(static_cast<double>(links.nodes)));
  const double between = 2.0 * depth * (tree_hop_us(Hop::network, p) + links.hop_latency_us);

  Estimate estimate;
  estimate.algorithm = scenarios::Algorithm::tree;
  estimate.protocol = protocol;
  const double factor = 0.5 * tree_factor(p, call.bytes);
  const double share = links.nodes > 1 && protocol == Protocol::simple ? 1.0 : kNcclShare;
  estimate.choice_us = tree_base_us(p) + inside + between +
                       call.bytes / (1000.0 * factor * protocol_bus(call, protocol, kNcclShare));
  const double loaded = 2.0 * depth * loaded_hop_us(call.bytes, protocol);
  estimate.latency_us = (tree_base_us(p) + inside) * correction.latency + between + loaded +
                        (protocol == Protocol::simple ? correction.simple_extra_us : 0.0);
  estimate.bandwidth = factor * protocol_bus(call, protocol, share);
  estimate.interference = links.nodes > 1 ? kTreeInterference : 0.0;
  estimate.port_bytes = links.per_node == 1 ? 0.0 : 2.0 * call.bytes;
  estimate.machine_bytes = links.nodes == 1 ? 0.0 : 0.5 * links.tree_streams * call.bytes;
  estimate.channels = used_channels(links.channels, call.bytes, protocol, 1.0);
  return estimate;
}

}  // namespace orrery::sim
