#include "sim/cost/host_model.h"

#include <algorithm>
#include <vector>

namespace orrery::sim {
namespace {
constexpr double kCopySeconds = 10e-6;  // start of a DMA transfer, seen from its stream
constexpr double kStagingRate = 12e9;   // B/s, one core's memcpy
constexpr double kCpuAdamShare = 0.5;   // of host memory bandwidth

using hardware::VertexKind;

// What each GPU has of the way to the host when all copy, in an explicit graph: of its switch's links to host
// bridges and other switches, its part. The narrowest switch counts for all.
double graph_share(const hardware::ExplicitGraph& graph, double slot) {
  std::vector<double> up(graph.vertices.size(), 0.0), gpus(graph.vertices.size(), 0.0);
  const auto add = [&](int at, int other, double usable) {
    const auto v = static_cast<std::size_t>(at);
    if (graph.vertices[v].kind != VertexKind::pcie_switch) return;
    const VertexKind kind = graph.vertices[static_cast<std::size_t>(other)].kind;
    if (kind == VertexKind::gpu) gpus[v] += 1.0;
    if (kind == VertexKind::host_bridge || kind == VertexKind::pcie_switch) up[v] += usable;
  };
  for (const hardware::GraphLink& link : graph.links) {
    add(link.from, link.to, link.usable.value());
    add(link.to, link.from, link.usable.value());
  }
  for (std::size_t v = 0; v < up.size(); ++v)
    if (gpus[v] > 0.0 && up[v] > 0.0) slot = std::min(slot, up[v] / gpus[v]);
  return slot;
}

double pcie_share(const hardware::Cluster& cluster) {
  const double slot = cluster.gpu.pcie_usable.value();
  if (cluster.graph) return graph_share(*cluster.graph, slot);
  const int gpus = cluster.node.gpus, switches = cluster.node.pcie_switches;
  const int fullest = (gpus + switches - 1) / switches;  // GPUs of the fullest switch
  return slot / fullest;
}

}  // namespace

HostDevice host_device(const hardware::Cluster& cluster) {
  return {pcie_share(cluster),
          cluster.node.host_memory_bandwidth.value() / static_cast<double>(cluster.node.gpus)};
}

double copy_seconds(double bytes, const HostDevice& host, bool pinned) {
  return kCopySeconds + bytes / host.pcie + (pinned ? 0.0 : bytes / kStagingRate);
}

double cpu_adam_seconds(double bytes, const HostDevice& host) {
  return bytes / (host.memory_share * kCpuAdamShare);
}

}  // namespace orrery::sim
