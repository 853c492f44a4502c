// The links between GPUs as a graph. Vertices are GPUs, NVSwitches, PCIe switches, host bridges, NICs and network
// switches; a full-duplex link is two arcs. A node template gives the graph of one machine (its fabric is a formula,
// sim/network/fabric.h); a cluster with an explicit graph gives the whole.
//
// A route is the path NCCL would take: NVLink before PCIe before the link between sockets before the network, then the
// fewest links, then the widest (NCCL src/graph/paths.cc: LOC < NVL < NVB < PIX .. SYS). A route that passes through a
// GPU costs more than a direct one of its class. Found by Dijkstra over (cost, -width), which is isotone.
// Cost: O(E log V) per source, kept by RouteTable.
#pragma once

#include <boost/graph/adjacency_list.hpp>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "hardware/cluster.h"

namespace orrery::sim {

enum class LinkClass : std::uint8_t { nvlink, pcie, socket, network };

struct Vertex {
  std::string name;  // "gpu3", "nvswitch", "pcie1", "host0", "nic2"
  hardware::VertexKind kind = hardware::VertexKind::gpu;
  int node = 0;
};

struct Arc {
  LinkClass link_class = LinkClass::pcie;
  double usable = 0.0;   // B/s
  double latency = 0.0;      // s, beyond the collective's own constants
  std::uint32_t index = 0;  // into vectors of loads; set by build_topology
};

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Vertex, Arc>;
using VertexIndex = Graph::vertex_descriptor;
using ArcIndex = Graph::edge_descriptor;

// One machine of the template, or the whole explicit graph. `gpus`: the machine's GPUs in order (explicit graph: node by
// node); `nics` likewise.
struct Topology {
  Graph graph;
  std::vector<VertexIndex> gpus;
  std::vector<VertexIndex> nics;
};
Topology build_topology(const hardware::Cluster& cluster);

struct Route {
  std::vector<ArcIndex> arcs;  // in order; empty where source and target are one
  double width = 0.0;          // B/s, of the narrowest arc
  double latency = 0.0;
  bool nvlink_only = false;
};

// Routes from every vertex asked for, each source computed once. Safe to share between threads.
class RouteTable {
 public:
  explicit RouteTable(const Topology& topology) : topology_(topology), trees_(boost::num_vertices(topology.graph)) {}
  Route route(VertexIndex from, VertexIndex to) const;
  std::int64_t cost(VertexIndex from, VertexIndex to) const;

 private:
  struct Tree {
    std::vector<ArcIndex> into;  // the last arc of the route to each vertex
    std::vector<std::int64_t> cost;
  };
  const Tree& tree(VertexIndex from) const;
  const Topology& topology_;
  mutable std::vector<Tree> trees_;
  mutable std::mutex mutex_;
};

std::string arc_name(const Graph& graph, ArcIndex arc);  // "gpu0 -> nvswitch"

}  // namespace orrery::sim
