#include "sim/network/endpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace orrery::sim {
namespace {

constexpr std::uint32_t kGpuPorts = 4;

// Capacity out of a GPU over links of one class. Direct links into a network count with PCIe: they are its way out.
double capacity_out(const Graph& graph, VertexIndex gpu, bool nvlink) {
  double sum = 0.0;
  for (auto [arc, end] = boost::out_edges(gpu, graph); arc != end; ++arc)
    if ((graph[*arc].link_class == LinkClass::nvlink) == nvlink) sum += graph[*arc].usable;
  return sum;
}

}  // namespace

Endpoints::Endpoints(const hardware::Cluster& cluster, const Topology& topology, const RouteTable& routes)
    : cluster_(cluster),
      topology_(topology),
      explicit_(cluster.graph.has_value()),
      nodes_(cluster.nodes),
      gpus_per_node_(cluster.node.gpus) {
  for (const VertexIndex gpu : topology.gpus)
    gpus_.push_back({capacity_out(topology.graph, gpu, true), capacity_out(topology.graph, gpu, false), {}});
  nics_.resize(explicit_ ? static_cast<std::size_t>(nodes_) : 1);
  for (std::size_t n = 0; n < topology.nics.size(); ++n) {
    const VertexIndex nic = topology.nics[n];
    NodeNics& of = nics_[static_cast<std::size_t>(topology.graph[nic].node)];
    of.vertices.push_back(nic);
    double usable = 0.0;
    if (explicit_) {
      for (auto [arc, end] = boost::out_edges(nic, topology.graph); arc != end; ++arc)
        if (topology.graph[*arc].link_class == LinkClass::network) usable += topology.graph[*arc].usable;
    } else {
      usable = cluster.node.nics[n].line.value() * (cluster.fabric.efficiency > 0.0 ? cluster.fabric.efficiency : 1.0);
    }
    of.capacity.push_back(usable);
  }
  for (std::size_t node = 0; node < nics_.size(); ++node) share_nics(routes, node);
  auto next = static_cast<std::uint32_t>(cluster.gpus()) * kGpuPorts;
  for (std::int64_t node = 0; node <= nodes_; ++node) {
    first_nic_.push_back(next);
    if (node < nodes_) next += static_cast<std::uint32_t>(nics_at(node).vertices.size()) * 2;
  }
}

void Endpoints::share_nics(const RouteTable& routes, std::size_t node) {
  const NodeNics& nics = nics_[node];
  if (nics.vertices.empty()) return;
  std::map<std::vector<int>, std::vector<std::size_t>> gpus_of_nearest;
  for (int g = 0; g < gpus_per_node_; ++g) {
    const std::size_t index = node * static_cast<std::size_t>(gpus_per_node_) + static_cast<std::size_t>(g);
    std::vector<int> nearest;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t n = 0; n < nics.vertices.size(); ++n) {
      const std::int64_t cost = routes.cost(topology_.gpus[index], nics.vertices[n]);
      if (cost < least) nearest.clear();
      least = std::min(least, cost);
      if (cost == least) nearest.push_back(static_cast<int>(n));
    }
    gpus_of_nearest[nearest].push_back(index);
  }
  for (const auto& [nearest, gpus] : gpus_of_nearest)
    for (std::size_t j = 0; j < gpus.size(); ++j)
      if (nearest.size() >= gpus.size()) {
        for (std::size_t n = 0; n < nearest.size(); ++n)
          if (n * gpus.size() / nearest.size() == j) gpus_[gpus[j]].nics.push_back(nearest[n]);
      } else {
        gpus_[gpus[j]].nics.push_back(nearest[j * nearest.size() / gpus.size()]);
      }
}

GpuPlace Endpoints::place(std::int64_t rank) const {
  CHECK(rank >= 0 && rank < nodes_ * gpus_per_node_, rank, nodes_, gpus_per_node_);
  switch (cluster_.placement) {
    case hardware::Placement::packed: return {rank / gpus_per_node_, static_cast<int>(rank % gpus_per_node_)};
    case hardware::Placement::round_robin: return {rank % nodes_, static_cast<int>(rank / nodes_)};
  }
  return {};
}

std::size_t Endpoints::table_index(const GpuPlace& gpu) const {
  return static_cast<std::size_t>(explicit_ ? gpu.node * gpus_per_node_ + gpu.local : gpu.local);
}

double Endpoints::nic_capacity(std::int64_t node, int nic) const {
  return nics_at(node).capacity[static_cast<std::size_t>(nic)];
}

VertexIndex Endpoints::vertex_of(const GpuPlace& gpu) const { return topology_.gpus[table_index(gpu)]; }

VertexIndex Endpoints::nic_vertex(std::int64_t node, int nic) const {
  return nics_at(node).vertices[static_cast<std::size_t>(nic)];
}

std::uint32_t Endpoints::resource_count() const { return first_nic_.back(); }

std::uint32_t Endpoints::gpu_resource(const GpuPlace& gpu, Port port) const {
  return static_cast<std::uint32_t>(gpu.node * gpus_per_node_ + gpu.local) * kGpuPorts + port;
}

std::uint32_t Endpoints::nic_resource(std::int64_t node, int nic, bool in) const {
  return first_nic_[static_cast<std::size_t>(node)] + static_cast<std::uint32_t>(nic) * 2 + (in ? 1 : 0);
}

std::string Endpoints::gpu_name(const GpuPlace& gpu) const {
  const std::string& own = topology_.graph[vertex_of(gpu)].name;
  return explicit_ ? own : fmt::format("node{}/{}", gpu.node, own);
}

std::string Endpoints::nic_name(std::int64_t node, int nic) const {
  const std::string& own = topology_.graph[nic_vertex(node, nic)].name;
  return explicit_ ? own : fmt::format("node{}/{}", node, own);
}

std::string Endpoints::resource_name(std::uint32_t resource) const {
  CHECK(resource < resource_count(), resource);
  if (resource < first_nic_.front()) {
    static constexpr std::array<const char*, kGpuPorts> kPorts = {"NVLink out", "NVLink in", "PCIe out", "PCIe in"};
    const std::int64_t gpu = resource / kGpuPorts;
    return fmt::format("{} {}", gpu_name({gpu / gpus_per_node_, static_cast<int>(gpu % gpus_per_node_)}),
                       kPorts[resource % kGpuPorts]);
  }
  const auto above = std::upper_bound(first_nic_.begin(), first_nic_.end(), resource);
  const auto node = above - first_nic_.begin() - 1;
  const std::uint32_t within = resource - first_nic_[static_cast<std::size_t>(node)];
  return fmt::format("{} {}", nic_name(node, static_cast<int>(within / 2)), within % 2 == 0 ? "out" : "in");
}

}  // namespace orrery::sim
