#include "sim/network/nvls.h"

#include <algorithm>
#include <cmath>

namespace orrery::sim {
namespace {

using schedule::OpKind;

constexpr double kRampUs = 80.0, kRampBytes = 16e6;

// In-switch reduction needs more than two members, all behind one set of NVSwitches.
bool supported(const CollectiveCall& call) {
  return call.cluster.node.nvls && call.links.nvswitch && call.links.per_node > 2;
}

double inside_bus(const CollectiveCall& call, int channels) {
  const double p = static_cast<double>(call.links.per_node), ch = channels;
  const double twice = call.kind == OpKind::all_reduce ? 2.0 : (p - 1.0) / p;
  return call.links.intra_bus * nvls_of(call.cluster.gpu).efficiency * (ch - 1.0) / ch * twice;
}

Estimate finish(const CollectiveCall& call, double latency_us, double bus) {
  const double ranks = static_cast<double>(call.links.ranks);
  const double factor = bus_factor(call.kind, ranks);
  const Correction& correction = correction_of(call.cluster.gpu);
  Estimate estimate;
  estimate.protocol = scenarios::Protocol::simple;
  estimate.choice_us = latency_us + call.bytes * factor / (1000.0 * bus);
  estimate.latency_us = latency_us + kNvlsIntraUs * (correction.latency - 1.0) +
                        kRampUs * call.bytes / (call.bytes + kRampBytes);
  return estimate;
}

}  // namespace

std::optional<Estimate> nvls_estimate(const CollectiveCall& call) {
  const bool known = call.kind == OpKind::all_reduce || call.kind == OpKind::all_gather || call.kind == OpKind::reduce_scatter;
  if (!known || call.links.nodes != 1 || !supported(call)) return std::nullopt;
  const int channels = nvls_of(call.cluster.gpu).channels;
  const double bus = inside_bus(call, channels);
  Estimate estimate = finish(call, kNvlsIntraUs, bus);
  const double ranks = static_cast<double>(call.links.ranks);
  estimate.algorithm = scenarios::Algorithm::nvls;
  estimate.bandwidth = bus * correction_of(call.cluster.gpu).nvls / bus_factor(call.kind, ranks);
  estimate.port_bytes = call.bytes * (call.kind == OpKind::all_reduce ? (ranks + 1.0) / ranks : 1.0);
  estimate.channels = channels;
  return estimate;
}

std::optional<Estimate> nvls_tree_estimate(const CollectiveCall& call) {
  const GroupLinks& links = call.links;
  if (call.kind != OpKind::all_reduce || links.nodes < 2 || !supported(call)) return std::nullopt;
  const int channels = nvls_of(call.cluster.gpu).channels_many;
  const double inside = inside_bus(call, channels);
  const double cap = links.channels * limits_of(call.cluster.gpu).nvls_tree[scale_column(links.nodes)];
  const double depth = std::floor(std::log2(static_cast<double>(links.nodes)));
  const double latency = kNvlsIntraUs + 2.0 * depth * (kNvlsTreeNetworkUs + links.hop_latency_us);
  Estimate estimate = finish(call, latency, std::min({inside, links.tree_between, cap}));
  const double ranks = static_cast<double>(links.ranks);
  estimate.algorithm = scenarios::Algorithm::nvls_tree;
  const double inside_real = inside * correction_of(call.cluster.gpu).nvls / bus_factor(call.kind, ranks);
  // Between machines a byte crosses the NICs as in the plain tree: bus / 2 of algorithm bandwidth.
  estimate.bandwidth = std::min({inside_real, 0.5 * links.tree_between, cap / bus_factor(call.kind, ranks)});
  const double p = static_cast<double>(links.per_node);
  estimate.interference = kTreeInterference;
  estimate.port_bytes = call.bytes * (p + 1.0) / p;
  estimate.machine_bytes = 0.5 * links.tree_streams * call.bytes;
  estimate.channels = channels;
  return estimate;
}

}  // namespace orrery::sim
