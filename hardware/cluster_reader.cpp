// Reads a cluster: its GPU type, then the node, the fabric or an explicit graph, then what concerns them
// together. docs/reference/cluster.md lists the fields.
#include "hardware/cluster_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/inherit.h"
#include "base/object_reader.h"
#include "hardware/base_file.h"
#include "hardware/field_rules.h"
#include "hardware/graph_reader.h"
#include "hardware/node_reader.h"

namespace orrery::hardware {
namespace {

constexpr std::int64_t kMaxNodes = 1'000'000;

struct SlowGpu {
  std::int64_t rank = 0;
  double speed = 1.0;
  const Json* item = nullptr;
};

// Sorted by rank, so that a list of a million is checked for repetition in one pass.
void read_slow_gpus(const Json& json, Diagnostics& diagnostics, Cluster& cluster) {
  if (!json.is_array()) {
    diagnostics.error(json.place, fmt::format("slow_gpus is {}", kind_name(json.kind)),
                      R"(a list such as [{"rank": 3, "speed": 0.8}])");
    return;
  }
  std::vector<SlowGpu> slow;
  const std::int64_t last = std::max<std::int64_t>(cluster.gpus() - 1, 0);
  for (const Json& item : json.items) {
    ObjectReader reader(item, diagnostics, "slow_gpus");
    const std::int64_t rank = reader.integer("rank", {.fallback = std::nullopt, .min = 0, .max = last});
    const double speed = reader.number("speed", {.fallback = std::nullopt, .min = 0.001, .max = 1.0});
    reader.finish();
    slow.push_back({rank, speed, &item});
  }
  std::stable_sort(slow.begin(), slow.end(),
                   [](const SlowGpu& a, const SlowGpu& b) { return a.rank < b.rank; });
  for (std::size_t i = 0; i < slow.size(); ++i) {
    if (i > 0 && slow[i].rank == slow[i - 1].rank)
      diagnostics.error(slow[i].item->place, fmt::format("rank {} is named twice", slow[i].rank),
                        "one speed a rank");
    else
      cluster.slow_gpus.emplace_back(slow[i].rank, slow[i].speed);
  }
}

void read_structure(ObjectReader& reader, Cluster& cluster) {
  Diagnostics& diagnostics = reader.diagnostics();
  const Json* graph = reader.child("graph");
  if (graph != nullptr) read_graph(*graph, diagnostics, cluster);
  if (const Json& node = reader.required("node"); !node.is_null())
    read_node(node, diagnostics, cluster.gpu, graph != nullptr, cluster.node);
  if (graph != nullptr) {
    for (const std::string_view key : {"nodes", "fabric"})
      if (reader.has(key))
        diagnostics.error(reader.place(key), fmt::format("{} beside a graph", key),
                          "the graph says it: leave it out");
    return;
  }
  cluster.nodes =
      static_cast<int>(reader.integer("nodes", {.fallback = std::nullopt, .min = 1, .max = kMaxNodes}));
  if (const Json& fabric = reader.required("fabric"); !fabric.is_null())
    read_fabric(fabric, diagnostics, cluster.fabric);
  if (cluster.nodes > 1 && cluster.fabric.kind == FabricKind::none)
    diagnostics.error(reader.place("fabric"),
                      fmt::format("{} nodes and no fabric between them", cluster.nodes),
                      "one_switch, fat_tree_2, fat_tree_3 or rail_optimised");
  if (cluster.nodes > 1 && cluster.node.nics.empty())
    diagnostics.error(reader.place("node"), fmt::format("{} nodes without NICs", cluster.nodes),
                      "give node.nics");
}

// On a CPU machine no host issues kernels, and nothing lies outside of the arena unless the file says so.
void read_fixed_costs(ObjectReader& reader, Cluster& cluster) {
  const auto given = [&](std::string_view key) {
    return cluster.gpu.kind == DeviceKind::gpu || reader.has(key);
  };
  if (given("host_issue_cost")) cluster.host_issue_cost = read_delay(reader, "host_issue_cost");
  if (given("context_bytes")) cluster.context_bytes = read_size(reader, "context_bytes");
  if (given("communicator_bytes")) cluster.communicator_bytes = read_size(reader, "communicator_bytes");
}

void read_transfers(ObjectReader& reader, Cluster& cluster) {
  Diagnostics& diagnostics = reader.diagnostics();
  if (const Json* named = reader.child("transfers"); named != nullptr) {
    const Json table = object_or_file(*named, "transfer table", diagnostics);
    if (!table.is_null())
      cluster.transfers = std::make_shared<TransferTable>(read_transfer_table(table, diagnostics));
  } else if (cluster.gpu.kind == DeviceKind::cpu && cluster.gpus() > 1) {
    diagnostics.error(reader.place(),
                      fmt::format("{} ranks of a CPU machine and no \"transfers\"", cluster.gpus()),
                      "the path of a transfer table, as orrery calibrate writes it");
  }
}

}  // namespace

Cluster read_cluster(const Json& json, Diagnostics& diagnostics) {
  Cluster cluster;
  const Json resolved = resolve_base(json, diagnostics, "cluster");
  if (resolved.is_null()) return cluster;
  ObjectReader reader(resolved, diagnostics, "cluster");
  cluster.name = reader.text("name", std::nullopt);
  cluster.source = reader.text("source", std::nullopt);
  if (const Json& gpu = reader.required("gpu"); !gpu.is_null()) cluster.gpu = read_gpu(gpu, diagnostics);
  read_structure(reader, cluster);
  cluster.placement =
      reader.choice<Placement>("placement", Placement::packed,
                               {{"packed", Placement::packed}, {"round_robin", Placement::round_robin}});
  if (const Json* slow = reader.child("slow_gpus"); slow != nullptr)
    read_slow_gpus(*slow, diagnostics, cluster);
  read_fixed_costs(reader, cluster);
  read_transfers(reader, cluster);
  reader.finish();
  return cluster;
}

}  // namespace orrery::hardware
