#include "sim/network/cluster_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery::sim {
namespace {

using hardware::FabricKind;
using hardware::VertexKind;
using Port = Endpoints::Port;

const char* fabric_name(const hardware::Cluster& cluster) {
  if (cluster.graph) return "explicit graph";
  switch (cluster.fabric.kind) {
    case FabricKind::none:
      return "none";
    case FabricKind::one_switch:
      return "one switch";
    case FabricKind::fat_tree_2:
      return "two-level fat tree";
    case FabricKind::fat_tree_3:
      return "three-level fat tree";
    case FabricKind::rail_optimised:
      return "rail-optimised";
  }
  return "?";
}

// Positions of vertices of the topology among GPUs and NICs of their machine.
class Names {
 public:
  explicit Names(const AlphaBeta& model) : model_(model) {}

  std::string vertex(std::int64_t node, VertexIndex v) const {
    const Vertex& vertex = model_.topology().graph[v];
    return model_.cluster().graph ? vertex.name : fmt::format("node{}/{}", node, vertex.name);
  }

  ReportLink link(std::int64_t node, ArcIndex arc) const {
    const Graph& graph = model_.topology().graph;
    const VertexIndex from = boost::source(arc, graph), to = boost::target(arc, graph);
    const bool nvlink = graph[arc].link_class == LinkClass::nvlink;
    std::string shared;
    if (graph[from].kind == VertexKind::gpu)
      shared = port(node, from, nvlink ? Port::nvlink_out : Port::pcie_out);
    else if (graph[to].kind == VertexKind::gpu)
      shared = port(node, to, nvlink ? Port::nvlink_in : Port::pcie_in);
    else if (graph[arc].link_class == LinkClass::network)
      shared = nic(from, to);
    return {vertex(node, from), vertex(node, to), graph[arc].link_class, Bandwidth(graph[arc].usable),
            shared};
  }

 private:
  std::string port(std::int64_t node, VertexIndex gpu, Port which) const {
    const std::vector<VertexIndex>& gpus = model_.topology().gpus;
    const auto at = std::find(gpus.begin(), gpus.end(), gpu) - gpus.begin();
    const int per_node = model_.endpoints().gpus_per_node();
    const GpuPlace place{model_.cluster().graph ? at / per_node : node, static_cast<int>(at % per_node)};
    return model_.resource_name(model_.endpoints().gpu_resource(place, which));
  }

  std::string nic(VertexIndex from, VertexIndex to) const {
    const Graph& graph = model_.topology().graph;
    const bool out = graph[from].kind == VertexKind::nic;
    const VertexIndex v = out ? from : to;
    if (graph[v].kind != VertexKind::nic) return {};
    for (int n = 0; n < model_.endpoints().nics_on(graph[v].node); ++n)
      if (model_.endpoints().nic_vertex(graph[v].node, n) == v)
        return model_.resource_name(model_.endpoints().nic_resource(graph[v].node, n, !out));
    return {};
  }

  const AlphaBeta& model_;
};

void append_route(const AlphaBeta& model, std::int64_t node, VertexIndex from, VertexIndex to,
                  std::vector<ReportLink>& links) {
  const Names names(model);
  for (const ArcIndex arc : model.routes().route(from, to).arcs) links.push_back(names.link(node, arc));
}

struct Way {
  GpuPlace from, to;
  int nic_from = 0, nic_to = 0;
};

// In a rail-optimised fabric a message changes rails inside its machine, over NVLink, before it leaves
// (NCCL's PXN).
Way way_out(const AlphaBeta& model, const GpuPlace& from, const GpuPlace& to) {
  const Endpoints& ends = model.endpoints();
  Way way{from, to, ends.nics_of(from).front(), ends.nics_of(to).front()};
  const hardware::Cluster& cluster = model.cluster();
  const bool pxn = cluster.fabric.kind == FabricKind::rail_optimised &&
                   cluster.node.intra == hardware::IntraKind::nvswitch && way.nic_from != way.nic_to;
  for (int local = 0; pxn && local < ends.gpus_per_node(); ++local) {
    const GpuPlace other{from.node, local};
    if (ends.nics_of(other).front() != way.nic_to) continue;
    way.from = other;
    way.nic_from = way.nic_to;
    break;
  }
  return way;
}

void append_fabric(const AlphaBeta& model, const Way& way, std::vector<ReportLink>& links) {
  const Endpoints& ends = model.endpoints();
  const hardware::Fabric& fabric = model.cluster().fabric;
  const std::int64_t a = way.from.node, b = way.to.node;
  const Bandwidth out(ends.nic_capacity(a, way.nic_from)), in(ends.nic_capacity(b, way.nic_to));
  const std::vector<std::string> switches = switches_between(fabric, a, way.nic_from, b, way.nic_to);
  const double share = std::min(1.0, stream_limit(fabric, {a, b}, {{0, 1}}));
  links.push_back({ends.nic_name(a, way.nic_from), switches.front(), LinkClass::network, out,
                   model.resource_name(ends.nic_resource(a, way.nic_from, false))});
  for (std::size_t s = 1; s < switches.size(); ++s)
    links.push_back({switches[s - 1], switches[s], LinkClass::network, out * share, ""});
  links.push_back({switches.back(), ends.nic_name(b, way.nic_to), LinkClass::network, in,
                   model.resource_name(ends.nic_resource(b, way.nic_to, true))});
}

}  // namespace

const char* name(LinkClass link_class) {
  switch (link_class) {
    case LinkClass::nvlink:
      return "NVLink";
    case LinkClass::pcie:
      return "PCIe";
    case LinkClass::socket:
      return "socket";
    case LinkClass::network:
      return "network";
  }
  return "?";
}

ClusterReport report_cluster(const AlphaBeta& model) {
  const hardware::Cluster& cluster = model.cluster();
  ClusterReport report;
  report.name = cluster.name;
  report.gpu = cluster.gpu.name;
  report.fabric = fabric_name(cluster);
  report.nodes = cluster.nodes;
  report.gpus = cluster.gpus();
  report.gpus_per_node = cluster.node.gpus;
  report.nic_efficiency = cluster.fabric.efficiency;
  report.nic_source = cluster.fabric.nic_source;
  report.oversubscribed = cluster.fabric.oversubscription > 1.0 || cluster.fabric.pod_oversubscription > 1.0;
  const Names names(model);
  const Graph& graph = model.topology().graph;
  for (auto [arc, end] = boost::edges(graph); arc != end; ++arc) report.links.push_back(names.link(0, *arc));
  if (cluster.graph || cluster.fabric.kind == FabricKind::none) return report;
  for (int n = 0; n < model.endpoints().nics_on(0); ++n) {
    const std::string leaf = switches_between(cluster.fabric, 0, n, 0, n).front();
    const std::string nic = model.endpoints().nic_name(0, n);
    const Bandwidth usable(model.endpoints().nic_capacity(0, n));
    for (const bool in : {false, true})
      report.links.push_back({in ? leaf : nic, in ? nic : leaf, LinkClass::network, usable,
                              model.resource_name(model.endpoints().nic_resource(0, n, in))});
  }
  return report;
}

ReportPath report_path(const AlphaBeta& model, std::int64_t from, std::int64_t to) {
  return report_path(model, model, from, to);
}

ReportPath report_path(const AlphaBeta& model, const NetworkModel& times, std::int64_t from, std::int64_t to) {
  const Endpoints& ends = model.endpoints();
  const GpuPlace a = ends.place(from), b = ends.place(to);
  ReportPath path;
  if (model.cluster().graph || a.node == b.node) {
    append_route(model, a.node, ends.vertex_of(a), ends.vertex_of(b), path.links);
  } else {
    const Way way = way_out(model, a, b);
    if (way.from.local != a.local)
      append_route(model, a.node, ends.vertex_of(a), ends.vertex_of(way.from), path.links);
    append_route(model, a.node, ends.vertex_of(way.from), ends.nic_vertex(a.node, way.nic_from), path.links);
    append_fabric(model, way, path.links);
    append_route(model, b.node, ends.nic_vertex(b.node, way.nic_to), ends.vertex_of(b), path.links);
  }
  const bool network = a.node != b.node;
  const bool pcie = std::any_of(path.links.begin(), path.links.end(),
                                [](const ReportLink& link) { return link.link_class != LinkClass::nvlink; });
  const bool memory = model.cluster().gpu.kind == hardware::DeviceKind::cpu;
  path.kind = network ? "network" : memory ? "memory" : pcie ? "PCIe" : "NVLink";
  // The slope of time over size between two large messages: what a long transfer gets.
  const Bytes size = Bytes::from_gib(1);
  const TransferPlan none = times.point_to_point(from, to, Bytes(0));
  const TransferPlan large = times.point_to_point(from, to, size);
  path.latency = none.time;
  path.usable = Bandwidth(static_cast<double>(size.count()) / (large.time - none.time).seconds());
  return path;
}

}  // namespace orrery::sim
