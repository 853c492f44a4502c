#include "sim/network/alpha_beta.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/network/point_to_point.h"
#include "sim/network/residuals.h"
#include "sim/network/select.h"
#include "sim/network/token_exchange.h"

namespace orrery::sim {
namespace {

using schedule::OpKind;

// The share of a capacity (GB/s) that `bytes` in `us` need on average.
std::uint32_t weight(double bytes, double us, double capacity) {
  if (bytes <= 0.0 || capacity <= 0.0) return 0;
  const double share = bytes / (1000.0 * us * capacity);
  return static_cast<std::uint32_t>(std::min(std::ceil(share * kFullLoad), static_cast<double>(kFullLoad)));
}

TransferPlan plan_of(const Estimate& estimate, double bytes, double factor, const hardware::Cluster& cluster) {
  TransferPlan plan;
  const double us = estimate.time_us(bytes);
  plan.time = Duration::from_seconds_up(us * 1e-6);
  plan.latency = Duration::from_seconds_up(estimate.latency_us * 1e-6);
  plan.algorithm = estimate.algorithm;
  plan.protocol = estimate.protocol;
  plan.crosses_nodes = estimate.machine_bytes > 0.0;
  plan.algorithm_bandwidth = bytes / (us * 1e-6);
  plan.bus_bandwidth = plan.algorithm_bandwidth * factor;
  plan.sms = estimate.channels;
  const ResidualInterval& interval =
      residual_of(where_of(plan.crosses_nodes, cluster), regime_of(estimate.latency_us / us));
  plan.log_low = interval.low;
  plan.log_high = interval.high;
  return plan;
}

void set_weights(const Estimate& estimate, const GroupLinks& links, double us, double plateau, TransferPlan& plan) {
  plan.port_is_pcie = !links.nvlink;
  const double port = links.nvlink ? links.nvlink_port * std::max(1.0, plateau) : links.pcie_port;
  plan.port_weight = weight(estimate.port_bytes, us, port);
  if (links.nodes == 1) return;
  plan.pcie_weight = weight(estimate.machine_bytes / static_cast<double>(links.per_node), us, links.pcie_port);
  if (links.nics > 0)
    plan.nic_weight = weight(estimate.machine_bytes / links.nics / links.members_per_nic, us, links.nic);
}

// Numbers keys in the order in which they first appear.
class Labels {
 public:
  std::uint64_t of(std::int64_t key) {
    if (!seen_.empty() && seen_.back() == key) return seen_.size() - 1;
    std::size_t at = seen_.size();
    if (key <= greatest_) at = static_cast<std::size_t>(std::find(seen_.begin(), seen_.end(), key) - seen_.begin());
    if (at == seen_.size()) seen_.push_back(key);
    greatest_ = std::max(greatest_, key);
    return at;
  }

 private:
  std::vector<std::int64_t> seen_;
  std::int64_t greatest_ = -1;
};

std::string explain(const TransferPlan& plan, const GroupLinks& links, bool forced_in_vain) {
  const double inside = links.per_node > 1 ? links.intra_bus : 0.0;
  std::string text = fmt::format("{}, {}, {} channels", name(plan.algorithm), name(plan.protocol), plan.sms);
  if (inside > 0.0) text += fmt::format(", {:.0f} GB/s {} inside", inside, links.nvlink ? "NVLink" : "PCIe");
  if (links.nodes > 1) {
    text += fmt::format(", {} machines, {} NICs each, {:.1f} GB/s", links.nodes, links.nics, links.nic_bus);
    if (links.ring_bus < links.nic_bus * 0.999) text += fmt::format(" ({:.1f} through the fabric)", links.ring_bus);
  }
  if (forced_in_vain) text += "; the forced algorithm or protocol does not exist for this collective here";
  return text;
}

}  // namespace

AlphaBeta::AlphaBeta(const hardware::Cluster& cluster, const scenarios::Network& wanted)
    : cluster_(cluster),
      wanted_(wanted),
      topology_(build_topology(cluster_)),
      routes_(topology_),
      endpoints_(cluster_, topology_, routes_),
      analysis_(cluster_, topology_, routes_, endpoints_) {}

TransferPlan AlphaBeta::collective(OpKind kind, Bytes bytes, std::span<const std::int64_t> members) const {
  CHECK(schedule::is_collective(kind), schedule::name(kind));
  CHECK(bytes.count() >= 0 && !members.empty(), bytes.count());
  TransferPlan plan;
  if (members.size() == 1) {
    plan.explanation = "one member: nothing moves";
    return plan;
  }
  const GroupLinks links = analysis_.links(members);
  const CollectiveCall call{kind, static_cast<double>(bytes.count()), links, cluster_};
  const Choice choice = kind == OpKind::all_to_all ? Choice{all_to_all_estimate(call), false} : choose(call, wanted_);
  return planned(call, choice.estimate, choice.forced_in_vain);
}

TransferPlan AlphaBeta::planned(const CollectiveCall& call, const Estimate& estimate, bool forced_in_vain) const {
  const GroupLinks& links = call.links;
  TransferPlan plan = plan_of(estimate, call.bytes, bus_factor(call.kind, static_cast<double>(links.ranks)), cluster_);
  plan.crosses_nodes = links.nodes > 1;
  set_weights(estimate, links, estimate.time_us(call.bytes), correction_of(cluster_.gpu).bandwidth, plan);
  plan.explanation = explain(plan, links, forced_in_vain);
  return plan;
}

TransferPlan AlphaBeta::by_node(const TokenExchange& exchange, Bytes bytes, std::span<const std::int64_t> members) const {
  if (members.size() == 1) return collective(OpKind::all_to_all, bytes, members);
  const GroupLinks links = analysis_.links(members);
  const CollectiveCall call{OpKind::all_to_all, static_cast<double>(bytes.count()), links, cluster_};
  return planned(call, by_node_estimate(call, exchange), false);
}

TransferPlan AlphaBeta::point_to_point(std::int64_t from, std::int64_t to, Bytes bytes) const {
  CHECK(from != to && bytes.count() >= 0, from, to, bytes.count());
  const GpuPlace a = endpoints_.place(from), b = endpoints_.place(to);
  PairLinks pair;
  GroupLinks ports;
  pair.crosses = a.node != b.node;
  if (pair.crosses) {
    const std::array<std::int64_t, 2> both = {from, to};
    ports = analysis_.links(both);
    pair.width = ports.ring_bus;
    pair.hop_latency_us = ports.hop_latency_us;
  } else {
    const Route route = routes_.route(endpoints_.vertex_of(a), endpoints_.vertex_of(b));
    pair.width = route.width * 1e-9;
    pair.nvlink = route.nvlink_only;
    pair.nvswitch = route.nvlink_only && !cluster_.graph && cluster_.node.intra == hardware::IntraKind::nvswitch;
    ports.nodes = ports.per_node = 1;
    ports.nvlink = pair.nvlink;
    ports.nvlink_port = std::min(endpoints_.nvlink_capacity(a), endpoints_.nvlink_capacity(b)) * 1e-9;
    ports.pcie_port = std::min(endpoints_.pcie_capacity(a), endpoints_.pcie_capacity(b)) * 1e-9;
  }
  const auto size = static_cast<double>(bytes.count());
  const Estimate estimate = pair_estimate(cluster_, pair, size);
  TransferPlan plan = plan_of(estimate, size, 1.0, cluster_);
  plan.crosses_nodes = pair.crosses;
  set_weights(estimate, ports, estimate.time_us(size), correction_of(cluster_.gpu).bandwidth, plan);
  plan.explanation = fmt::format("send and receive over {}, {:.1f} GB/s",
                                 pair.crosses ? "NICs" : pair.nvlink ? "NVLink" : "PCIe", estimate.bandwidth);
  return plan;
}

// In a template all machines are alike, and the fabric asks only which of them share a leaf or a pod: what counts is
// each member's place in its machine, and which members have machine, leaf and pod in common.
std::uint64_t AlphaBeta::pattern(std::span<const std::int64_t> members) const {
  if (cluster_.graph) return NetworkModel::pattern(members);
  Labels nodes, leaves, pods;
  std::uint64_t hash = members.size();
  const auto add = [&hash](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  };
  for (const std::int64_t member : members) {
    const GpuPlace place = endpoints_.place(member);
    add(static_cast<std::uint64_t>(place.local));
    add(nodes.of(place.node));
    add(leaves.of(leaf_of(cluster_.fabric, place.node)));
    add(pods.of(pod_of(cluster_.fabric, place.node)));
  }
  return hash;
}

void AlphaBeta::loads(const TransferPlan& plan, std::int64_t rank, bool sends, bool receives,
                      std::vector<Load>& out) const {
  const GpuPlace gpu = endpoints_.place(rank);
  const std::uint32_t nvlink = plan.port_is_pcie ? 0 : plan.port_weight;
  const std::uint32_t pcie = std::min(kFullLoad, (plan.port_is_pcie ? plan.port_weight : 0) + plan.pcie_weight);
  for (const bool in : {false, true}) {
    if (in ? !receives : !sends) continue;
    using Port = Endpoints::Port;
    if (nvlink > 0) out.push_back({endpoints_.gpu_resource(gpu, in ? Port::nvlink_in : Port::nvlink_out), nvlink});
    if (pcie > 0) out.push_back({endpoints_.gpu_resource(gpu, in ? Port::pcie_in : Port::pcie_out), pcie});
    if (plan.nic_weight == 0) continue;
    for (const int nic : endpoints_.nics_of(gpu))
      out.push_back({endpoints_.nic_resource(gpu.node, nic, in), plan.nic_weight});
  }
}

}  // namespace orrery::sim
