// Vertices are looked up by name in a sorted map; connectivity is one union-find pass. Cost: linear in the file.
#include "hardware/graph_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/object_reader.h"
#include "hardware/field_rules.h"

namespace orrery::hardware {
namespace {

constexpr std::size_t kMaxVertices = 100'000;
constexpr std::int64_t kMaxGpusPerNode = 64;

using VertexIndex = std::map<std::string, int>;

GraphVertex read_vertex(const Json& json, Diagnostics& diagnostics) {
  ObjectReader reader(json, diagnostics, "vertex");
  GraphVertex vertex;
  vertex.name = reader.text("name", std::nullopt);
  vertex.kind = reader.choice<VertexKind>("kind", std::nullopt,
                                          {{"gpu", VertexKind::gpu},
                                           {"nvswitch", VertexKind::nvswitch},
                                           {"pcie_switch", VertexKind::pcie_switch},
                                           {"host_bridge", VertexKind::host_bridge},
                                           {"nic", VertexKind::nic},
                                           {"network_switch", VertexKind::network_switch}});
  if (vertex.kind == VertexKind::network_switch) {
    vertex.node = -1;  // belongs to no machine
  } else {
    vertex.node = static_cast<int>(reader.integer("node", {.fallback = std::nullopt, .min = 0, .max = 99'999}));
  }
  reader.finish();
  return vertex;
}

int vertex_of(ObjectReader& reader, std::string_view key, const VertexIndex& index) {
  const std::string named = reader.text(key, std::nullopt);
  const auto at = index.find(named);
  if (at != index.end()) return at->second;
  if (!named.empty()) {
    std::vector<std::string> words;
    if (index.size() < 1000)
      for (const auto& [word, value] : index) words.push_back(word);
    const std::string near = nearest_word(named, words);
    reader.diagnostics().error(reader.place(key), fmt::format("there is no vertex '{}'", named),
                               near.empty() ? "the name of a vertex" : fmt::format("did you mean '{}'?", near));
  }
  return -1;
}

void read_vertices(const Json& json, Diagnostics& diagnostics, ExplicitGraph& graph, VertexIndex& index) {
  if (!json.is_array() || json.items.empty() || json.items.size() > kMaxVertices) {
    diagnostics.error(json.place, "vertices must be a list",
                      fmt::format("1 to {} objects with name, kind and node", kMaxVertices));
    return;
  }
  for (const Json& item : json.items) {
    graph.vertices.push_back(read_vertex(item, diagnostics));
    const std::string& named = graph.vertices.back().name;
    if (named.empty()) continue;
    if (!index.emplace(named, static_cast<int>(graph.vertices.size()) - 1).second)
      diagnostics.error(item.place, fmt::format("a second vertex is called '{}'", named), "names must differ");
  }
}

void read_links(const Json& json, Diagnostics& diagnostics, const VertexIndex& index, ExplicitGraph& graph) {
  if (!json.is_array()) {
    diagnostics.error(json.place, "links must be a list", "objects with from, to, usable and latency");
    return;
  }
  for (const Json& item : json.items) {
    ObjectReader reader(item, diagnostics, "link");
    GraphLink link;
    link.from = vertex_of(reader, "from", index);
    link.to = vertex_of(reader, "to", index);
    link.usable = read_speed(reader, "usable");
    link.latency = read_delay(reader, "latency");
    reader.finish();
    if (link.from >= 0 && link.from == link.to)
      diagnostics.error(item.place, "a link from a vertex to itself", "name two vertices");
    graph.links.push_back(link);
  }
}

// Machines are numbered 0, 1, ... and equal in size.
void count_gpus(const Json& json, Diagnostics& diagnostics, Cluster& cluster) {
  std::map<int, std::int64_t> gpus_of_node;
  for (const GraphVertex& vertex : cluster.graph->vertices)
    if (vertex.kind == VertexKind::gpu) ++gpus_of_node[vertex.node];
  if (gpus_of_node.empty()) {
    diagnostics.error(json.place, "the graph has no GPU", "add vertices of kind gpu");
    return;
  }
  const std::int64_t expected = gpus_of_node.begin()->second;
  int next = 0;
  for (const auto& [node, gpus] : gpus_of_node) {
    if (node != next++)
      diagnostics.error(json.place, fmt::format("node {} has no GPU, node {} has", next - 1, node),
                        "number the machines 0, 1, 2, ...");
    if (gpus != expected)
      diagnostics.error(json.place, fmt::format("node {} has {} GPUs, node 0 has {}", node, gpus, expected),
                        "every machine needs the same number");
    if (node != next - 1) break;
  }
  if (expected > kMaxGpusPerNode)
    diagnostics.error(json.place, fmt::format("node 0 has {} GPUs", expected), fmt::format("at most {}", kMaxGpusPerNode));
  cluster.nodes = static_cast<int>(gpus_of_node.size());
  cluster.node.gpus = static_cast<int>(std::min(expected, kMaxGpusPerNode));
}

void check_connected(const Json& json, Diagnostics& diagnostics, const ExplicitGraph& graph) {
  std::vector<int> parent(graph.vertices.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int v) {
    while (parent[static_cast<std::size_t>(v)] != v) {
      int& up = parent[static_cast<std::size_t>(v)];
      up = parent[static_cast<std::size_t>(up)];
      v = up;
    }
    return v;
  };
  for (const GraphLink& link : graph.links)
    if (link.from >= 0 && link.to >= 0) parent[static_cast<std::size_t>(root(link.from))] = root(link.to);
  int first = -1;
  for (std::size_t v = 0; v < graph.vertices.size(); ++v) {
    if (graph.vertices[v].kind != VertexKind::gpu) continue;
    if (first < 0) first = static_cast<int>(v);
    if (root(static_cast<int>(v)) != root(first))
      diagnostics.error(json.place, fmt::format("no path from '{}' to '{}'", graph.vertices[static_cast<std::size_t>(first)].name,
                                                graph.vertices[v].name),
                        "add links");
  }
}

}  // namespace

void read_graph(const Json& json, Diagnostics& diagnostics, Cluster& cluster) {
  cluster.graph.emplace();
  ObjectReader reader(json, diagnostics, "graph");
  cluster.fabric.kind = FabricKind::none;
  cluster.fabric.efficiency = 1.0;  // links state what is usable
  cluster.fabric.transport =
      reader.choice<Transport>("transport", Transport::rdma, {{"rdma", Transport::rdma}, {"tcp", Transport::tcp}});
  VertexIndex index;
  const Json& vertices = reader.required("vertices");
  if (!vertices.is_null()) read_vertices(vertices, diagnostics, *cluster.graph, index);
  const Json& links = reader.required("links");
  if (!links.is_null()) read_links(links, diagnostics, index, *cluster.graph);
  reader.finish();
  if (vertices.is_null()) return;
  count_gpus(vertices, diagnostics, cluster);
  if (!links.is_null()) check_connected(links, diagnostics, *cluster.graph);
}

}  // namespace orrery::hardware
