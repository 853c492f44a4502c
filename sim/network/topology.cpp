#include "sim/network/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "sim/network/cube_mesh.h"

namespace orrery::sim {
namespace {

using hardware::IntraKind;
using hardware::VertexKind;

constexpr std::int64_t kUnreachable = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kThroughGpu = 10;

std::int64_t class_cost(LinkClass link_class) {
  switch (link_class) {
    case LinkClass::nvlink:
      return 1;
    case LinkClass::pcie:
      return 100;
    case LinkClass::socket:
      return 1'000;
    case LinkClass::network:
      return 100'000;
  }
  return 0;
}

// In two steps: boost::add_vertex with a property looks it up by name first, which GCC 12 takes for a use of
// something uninitialised.
VertexIndex add(Graph& graph, const Vertex& vertex) {
  const VertexIndex at = boost::add_vertex(graph);
  graph[at] = vertex;
  return at;
}

void connect(Graph& graph, VertexIndex a, VertexIndex b, Arc arc) {
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    arc.index = static_cast<std::uint32_t>(boost::num_edges(graph));
    boost::add_edge(from, to, arc, graph);
  }
}

void add_nvlinks(const hardware::Cluster& cluster, Topology& topology) {
  const hardware::Gpu& gpu = cluster.gpu;
  const double one = gpu.nvlink_usable.value();
  Graph& graph = topology.graph;
  switch (cluster.node.intra) {
    case IntraKind::nvswitch: {
      if (cluster.node.gpus == 1) return;
      const VertexIndex hub = add(graph, {"nvswitch", VertexKind::nvswitch, 0});
      for (const VertexIndex g : topology.gpus)
        connect(graph, g, hub, {LinkClass::nvlink, one * gpu.nvlinks});
      return;
    }
    case IntraKind::cube_mesh:
      for (int a = 0; a < 8; ++a)
        for (int b = a + 1; b < 8; ++b)
          if (const int links = cube_mesh_links(a, b); links > 0)
            connect(graph, topology.gpus[static_cast<std::size_t>(a)],
                    topology.gpus[static_cast<std::size_t>(b)], {LinkClass::nvlink, one * links});
      return;
    case IntraKind::nvlink_mesh: {
      const int links = cluster.node.gpus > 1 ? gpu.nvlinks / (cluster.node.gpus - 1) : 0;  // whole ones
      for (std::size_t a = 0; a < topology.gpus.size(); ++a)
        for (std::size_t b = a + 1; b < topology.gpus.size(); ++b)
          connect(graph, topology.gpus[a], topology.gpus[b], {LinkClass::nvlink, one * links});
      return;
    }
    case IntraKind::nvlink_pairs:
      for (std::size_t g = 0; g + 1 < topology.gpus.size(); g += 2)
        connect(graph, topology.gpus[g], topology.gpus[g + 1], {LinkClass::nvlink, one * gpu.nvlinks});
      return;
    case IntraKind::pcie:
      return;
  }
}

void add_pcie(const hardware::Cluster& cluster, Topology& topology) {
  const hardware::Node& node = cluster.node;
  Graph& graph = topology.graph;
  const Arc slot{LinkClass::pcie, cluster.gpu.pcie_usable.value()};
  std::vector<VertexIndex> hosts, switches;
  for (int s = 0; s < node.sockets; ++s)
    hosts.push_back(add(graph, {fmt::format("host{}", s), VertexKind::host_bridge, 0}));
  for (std::size_t s = 1; s < hosts.size(); ++s)
    connect(graph, hosts[s - 1], hosts[s], {LinkClass::socket, node.socket_link.value()});
  for (int p = 0; p < node.pcie_switches; ++p) {
    switches.push_back(add(graph, {fmt::format("pcie{}", p), VertexKind::pcie_switch, 0}));
    connect(graph, switches.back(), hosts[static_cast<std::size_t>(p * node.sockets / node.pcie_switches)],
            slot);
  }
  for (std::size_t g = 0; g < topology.gpus.size(); ++g)
    connect(graph, topology.gpus[g], switches[g * switches.size() / topology.gpus.size()], slot);
  for (std::size_t n = 0; n < node.nics.size(); ++n) {
    const hardware::Nic& nic = node.nics[n];
    topology.nics.push_back(add(graph, {fmt::format("nic{}", n), VertexKind::nic, 0}));
    // A NIC sits in a slot that fits it: at least the GPU's, or its own line rate.
    const double width = std::max(slot.usable, nic.line.value());
    connect(graph, topology.nics.back(), switches[static_cast<std::size_t>(nic.pcie_switch)],
            {LinkClass::pcie, width});
  }
}

Topology from_template(const hardware::Cluster& cluster) {
  Topology topology;
  for (int g = 0; g < cluster.node.gpus; ++g)
    topology.gpus.push_back(add(topology.graph, {fmt::format("gpu{}", g), VertexKind::gpu, 0}));
  add_nvlinks(cluster, topology);
  add_pcie(cluster, topology);
  return topology;
}

LinkClass class_of(VertexKind a, VertexKind b) {
  const auto is = [&](VertexKind kind) { return a == kind || b == kind; };
  if (is(VertexKind::network_switch) || (a == VertexKind::nic && b == VertexKind::nic))
    return LinkClass::network;
  if (is(VertexKind::nvswitch) || (a == VertexKind::gpu && b == VertexKind::gpu)) return LinkClass::nvlink;
  if (a == VertexKind::host_bridge && b == VertexKind::host_bridge) return LinkClass::socket;
  return LinkClass::pcie;
}

Topology from_graph(const hardware::ExplicitGraph& source, int nodes) {
  Topology topology;
  std::vector<std::vector<VertexIndex>> gpus_of_node(static_cast<std::size_t>(nodes)),
      nics_of_node(gpus_of_node);
  for (const hardware::GraphVertex& vertex : source.vertices) {
    const VertexIndex at = add(topology.graph, {vertex.name, vertex.kind, vertex.node});
    if (vertex.node < 0) continue;
    const auto node = static_cast<std::size_t>(vertex.node);
    if (vertex.kind == VertexKind::gpu) gpus_of_node[node].push_back(at);
    if (vertex.kind == VertexKind::nic && node < nics_of_node.size()) nics_of_node[node].push_back(at);
  }
  for (const auto& gpus : gpus_of_node) topology.gpus.insert(topology.gpus.end(), gpus.begin(), gpus.end());
  for (const auto& nics : nics_of_node) topology.nics.insert(topology.nics.end(), nics.begin(), nics.end());
  for (const hardware::GraphLink& link : source.links) {
    const auto from = static_cast<VertexIndex>(link.from), to = static_cast<VertexIndex>(link.to);
    const LinkClass link_class = class_of(topology.graph[from].kind, topology.graph[to].kind);
    connect(topology.graph, from, to, {link_class, link.usable.value(), link.latency.seconds()});
  }
  return topology;
}

}  // namespace

Topology build_topology(const hardware::Cluster& cluster) {
  return cluster.graph ? from_graph(*cluster.graph, cluster.nodes) : from_template(cluster);
}

const RouteTable::Tree& RouteTable::tree(VertexIndex from) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  Tree& tree = trees_[from];
  if (!tree.cost.empty()) return tree;
  const Graph& graph = topology_.graph;
  const std::size_t count = boost::num_vertices(graph);
  tree.cost.assign(count, kUnreachable);
  tree.into.resize(count);
  std::vector<double> width(count, 0.0);
  using Entry = std::tuple<std::int64_t, double, VertexIndex>;  // cost, -width, vertex
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  tree.cost[from] = 0;
  width[from] = std::numeric_limits<double>::infinity();
  queue.emplace(0, -width[from], from);
  while (!queue.empty()) {
    const auto [cost, negative_width, v] = queue.top();
    queue.pop();
    if (cost != tree.cost[v] || -negative_width != width[v]) continue;
    const std::int64_t leave = graph[v].kind == VertexKind::gpu && v != from ? kThroughGpu : 0;
    for (auto [arc, end] = boost::out_edges(v, graph); arc != end; ++arc) {
      const VertexIndex to = boost::target(*arc, graph);
      const std::int64_t new_cost = cost + leave + class_cost(graph[*arc].link_class);
      const double new_width = std::min(width[v], graph[*arc].usable);
      if (new_cost > tree.cost[to] || (new_cost == tree.cost[to] && new_width <= width[to])) continue;
      tree.cost[to] = new_cost;
      width[to] = new_width;
      tree.into[to] = *arc;
      queue.emplace(new_cost, -new_width, to);
    }
  }
  return tree;
}

std::int64_t RouteTable::cost(VertexIndex from, VertexIndex to) const { return tree(from).cost[to]; }

Route RouteTable::route(VertexIndex from, VertexIndex to) const {
  const Tree& found = tree(from);
  CHECK(found.cost[to] != kUnreachable, topology_.graph[from].name, topology_.graph[to].name);
  Route route;
  route.width = std::numeric_limits<double>::infinity();
  route.nvlink_only = true;
  for (VertexIndex v = to; v != from; v = boost::source(found.into[v], topology_.graph)) {
    const Arc& arc = topology_.graph[found.into[v]];
    route.arcs.push_back(found.into[v]);
    route.width = std::min(route.width, arc.usable);
    route.latency += arc.latency;
    route.nvlink_only = route.nvlink_only && arc.link_class == LinkClass::nvlink;
  }
  std::reverse(route.arcs.begin(), route.arcs.end());
  return route;
}

std::string arc_name(const Graph& graph, ArcIndex arc) {
  return fmt::format("{} -> {}", graph[boost::source(arc, graph)].name,
                     graph[boost::target(arc, graph)].name);
}

}  // namespace orrery::sim
