#include "sim/network/group_links.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

namespace orrery::sim {
namespace {

constexpr double kGiga = 1e9;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr int kMaxChannels = 32;

double least(double a, double b) { return a == 0.0 ? b : std::min(a, b); }

// Parent of machine `rank` in a binary tree over n machines that alternates leaves and inner nodes; -1: root.
std::int64_t parent_in_tree(std::int64_t rank, std::int64_t n) {
  if (rank == 0) return -1;
  const std::int64_t bit = rank & -rank;
  const std::int64_t up = (rank ^ bit) | (bit << 1);
  return up < n ? up : (rank ^ bit);
}

Streams ring_streams(std::int64_t machines) {
  Streams streams;
  for (std::int64_t m = 0; m < machines; ++m) streams.emplace_back(m, (m + 1) % machines);
  return streams;
}

// Most streams that leave one machine.
double most_leaving(const Streams& streams, std::int64_t machines) {
  std::vector<double> leaving(static_cast<std::size_t>(machines), 0.0);
  for (const auto& [from, to] : streams) leaving[static_cast<std::size_t>(from)] += 1.0;
  return *std::max_element(leaving.begin(), leaving.end());
}

// Every member sends to every other at once: the most loaded arc decides.
double pair_rate(const Topology& topology, const RouteTable& routes,
                 const std::vector<VertexIndex>& members) {
  std::vector<double> load(boost::num_edges(topology.graph), 0.0);
  std::vector<ArcIndex> used;
  for (const VertexIndex a : members)
    for (const VertexIndex b : members) {
      if (a == b) continue;
      for (const ArcIndex arc : routes.route(a, b).arcs) {
        load[topology.graph[arc].index] += 1.0;
        used.push_back(arc);
      }
    }
  double rate = kUnlimited;
  for (const ArcIndex arc : used)
    rate = std::min(rate, topology.graph[arc].usable / load[topology.graph[arc].index]);
  return rate / kGiga;
}

}  // namespace

Streams double_tree_streams(std::int64_t machines) {
  Streams streams;
  const auto both_ways = [&](std::int64_t a, std::int64_t b) {
    streams.emplace_back(a, b);
    streams.emplace_back(b, a);
  };
  for (std::int64_t m = 0; m < machines; ++m) {
    const std::int64_t up = parent_in_tree(m, machines);
    if (up < 0) continue;
    both_ways(m, up);
    if (machines % 2 == 0)
      both_ways(machines - 1 - m, machines - 1 - up);  // the second tree is the mirror image ...
    else
      both_ways((m + 1) % machines, (up + 1) % machines);  // ... or shifted by one
  }
  return streams;
}

ChannelPlan nvswitch_channels(const hardware::Gpu& gpu) {
  static constexpr std::array<double, 10> kAmpere = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6};
  static constexpr std::array<double, 10> kHopper = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6};
  static constexpr std::array<double, 10> kBlackwell = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20};
  const auto& speeds = gpu.compute_capability >= 100  ? kBlackwell
                       : gpu.compute_capability >= 90 ? kHopper
                                                      : kAmpere;
  const double port = gpu.nvlink_usable.value() * gpu.nvlinks / kGiga;
  for (const double speed : speeds) {
    int channels = static_cast<int>(port / speed + 1e-9);
    if (channels < 1) continue;
    const double bus = channels * speed;
    const bool split = speed >= 25.0 && !(gpu.compute_capability > 80 && speed < 50.0 && channels > 4);
    channels *= split ? 4 : 2;
    return {std::min(channels, kMaxChannels), bus};
  }
  return {2, port};  // slower than every speed of the list
}

std::vector<GroupAnalysis::Machine> GroupAnalysis::machines(std::span<const std::int64_t> members) const {
  std::vector<Machine> result;
  std::unordered_map<std::int64_t, std::size_t> position;
  for (const std::int64_t rank : members) {
    const GpuPlace place = endpoints_.place(rank);
    if (result.empty() || result.back().node != place.node) {
      const auto [at, is_new] = position.emplace(place.node, result.size());
      if (is_new) result.push_back({place.node, {}});
      result[at->second].locals.push_back(place.local);
      continue;
    }
    result.back().locals.push_back(place.local);
  }
  return result;
}

void GroupAnalysis::add_inside(const Machine& machine, GroupLinks& links) const {
  if (machine.locals.size() < 2) return;
  std::vector<VertexIndex> vertices;
  for (const int local : machine.locals) {
    const GpuPlace gpu{machine.node, local};
    vertices.push_back(endpoints_.vertex_of(gpu));
    links.nvlink_port = least(links.nvlink_port, endpoints_.nvlink_capacity(gpu) / kGiga);
    links.pcie_port = least(links.pcie_port, endpoints_.pcie_capacity(gpu) / kGiga);
  }
  if (!cluster_.graph && cluster_.node.intra == hardware::IntraKind::nvswitch) {
    const ChannelPlan plan = nvswitch_channels(cluster_.gpu);
    links.nvswitch = true;
    links.channels = plan.channels;
    links.intra_bus = plan.bus;
    links.pair_rate = links.nvlink_port / static_cast<double>(links.per_node - 1);
    return;
  }
  const RingSet rings = search_rings(topology_, routes_, vertices);
  CHECK(rings.rings > 0, machine.node);
  links.intra_bus = least(links.intra_bus, rings.total() / kGiga);
  links.pair_rate = least(links.pair_rate, pair_rate(topology_, routes_, vertices));
  links.nvlink = links.nvlink && rings.nvlink;
  links.channels = std::clamp(2 * rings.rings, links.channels, kMaxChannels);
}

void GroupAnalysis::add_outside(const Machine& machine, GroupLinks& links) const {
  std::map<int, int> members_of_nic;
  double gpus_can = 0.0, nics_can = 0.0;
  for (const int local : machine.locals) {
    const GpuPlace gpu{machine.node, local};
    links.pcie_port = least(links.pcie_port, endpoints_.pcie_capacity(gpu) / kGiga);
    double width = 0.0;
    for (const int nic : endpoints_.nics_of(gpu)) {
      ++members_of_nic[nic];
      width = std::max(
          width, routes_.route(endpoints_.vertex_of(gpu), endpoints_.nic_vertex(machine.node, nic)).width);
    }
    gpus_can += width / kGiga;
  }
  for (const auto& [nic, members] : members_of_nic) {
    const double capacity = endpoints_.nic_capacity(machine.node, nic) / kGiga;
    nics_can += capacity;
    links.nic = least(links.nic, capacity);
    links.members_per_nic = std::max(links.members_per_nic, static_cast<double>(members));
  }
  const auto nics = static_cast<int>(members_of_nic.size());
  if (nics == 0) return;  // an explicit graph whose GPUs are on the network themselves
  links.nics = links.nics == 0 ? nics : std::min(links.nics, nics);
  links.nic_bus = least(links.nic_bus, std::min(gpus_can, nics_can));
}

std::vector<std::int64_t> GroupAnalysis::nodes_of(const std::vector<Machine>& machines) {
  std::vector<std::int64_t> nodes(machines.size());
  std::transform(machines.begin(), machines.end(), nodes.begin(), [](const Machine& m) { return m.node; });
  return nodes;
}

// Rate of one stream (GB/s): of a whole machine's NICs by formula, or laid over the links of an explicit
// graph, one channel a member.
double GroupAnalysis::stream_rate(const std::vector<Machine>& machines, const Streams& streams,
                                  GroupLinks& links) const {
  if (!cluster_.graph) {
    return stream_limit(cluster_.fabric, nodes_of(machines), streams) * links.nic_bus;
  }
  std::vector<double> load(boost::num_edges(topology_.graph), 0.0);
  const auto channels = static_cast<std::size_t>(links.per_node);
  double rate = kUnlimited, latency = 0.0;
  std::vector<std::pair<std::uint32_t, double>> used;
  for (const auto& [from, to] : streams)
    for (std::size_t c = 0; c < channels; ++c) {
      const Machine &a = machines[static_cast<std::size_t>(from)],
                    &b = machines[static_cast<std::size_t>(to)];
      const Route route = routes_.route(endpoints_.vertex_of({a.node, a.locals[c % a.locals.size()]}),
                                        endpoints_.vertex_of({b.node, b.locals[c % b.locals.size()]}));
      latency = std::max(latency, route.latency);
      for (const ArcIndex arc : route.arcs) {
        const Arc& link = topology_.graph[arc];
        load[link.index] += 1.0;
        used.emplace_back(link.index, link.usable / kGiga);
      }
    }
  for (const auto& [arc, usable] : used) rate = std::min(rate, usable / load[arc]);
  links.hop_latency_us = latency * 1e6;
  return rate * static_cast<double>(channels);
}

void GroupAnalysis::limit_by_fabric(const std::vector<Machine>& machines, GroupLinks& links) const {
  const auto n = static_cast<std::int64_t>(machines.size());
  const double ring = stream_rate(machines, ring_streams(n), links);
  if (links.nic_bus == 0.0) links.nic_bus = ring;
  // In a double tree each stream carries a quarter of the bus bandwidth: half of the data, and busbw is twice
  // algbw.
  const Streams trees = double_tree_streams(n);
  const double tree =
      4.0 * std::min(stream_rate(machines, trees, links), links.nic_bus / most_leaving(trees, n));
  const double intra = links.intra_bus > 0.0 ? links.intra_bus : kUnlimited;
  links.ring_bus = std::min({ring, links.nic_bus, intra});
  links.tree_between = tree;
  links.tree_bus = std::min(tree, intra);
  links.tree_streams = most_leaving(trees, n);
  links.exchange_bus = std::min(links.nic_bus, ring);
  if (!cluster_.graph) {
    links.exchange_bus = links.nic_bus * std::min(1.0, exchange_limit(cluster_.fabric, nodes_of(machines)));
    links.hop_latency_us = cluster_.fabric.hop_latency.seconds() * 1e6;
  }
}

GroupLinks GroupAnalysis::links(std::span<const std::int64_t> members) const {
  GroupLinks links;
  const std::vector<Machine> found = machines(members);
  links.ranks = static_cast<std::int64_t>(members.size());
  links.nodes = static_cast<std::int64_t>(found.size());
  for (const Machine& machine : found)
    links.per_node = std::max(links.per_node, static_cast<std::int64_t>(machine.locals.size()));
  std::map<std::vector<int>, bool> seen;  // machines of a template with the same local GPUs are alike
  for (const Machine& machine : found) {
    if (!cluster_.graph && !seen.emplace(machine.locals, true).second) continue;
    add_inside(machine, links);
    if (links.nodes > 1) add_outside(machine, links);
  }
  if (links.nodes == 1) {
    links.ring_bus = links.tree_bus = links.intra_bus;
    return links;
  }
  limit_by_fabric(found, links);
  links.channels = std::clamp(2 * std::max(links.nics, 1), 2, kMaxChannels);
  return links;
}

}  // namespace orrery::sim
