#include "hardware/node_reader.h"

#include <fmt/format.h>

#include "base/object_reader.h"
#include "hardware/field_rules.h"

namespace orrery::hardware {
namespace {

constexpr int kMaxGpusPerNode = 64, kMaxSwitches = 64, kMaxNics = 256, kMaxCores = 1024;

void read_host(const Json& json, Diagnostics& diagnostics, Node& node) {
  ObjectReader reader(json, diagnostics, "host");
  node.host_memory = read_size(reader, "memory");
  node.host_memory_bandwidth = read_speed(reader, "memory_bandwidth");
  node.cpu_vendor = reader.choice<std::string>("cpu_vendor", std::nullopt,
                                               {{"intel", "intel"}, {"amd", "amd"}, {"other", "other"}});
  reader.finish();
}

// {"count": n, "line": speed}: n NICs spread evenly over the PCIe switches.
void read_even_nics(const Json& json, Diagnostics& diagnostics, Node& node) {
  ObjectReader reader(json, diagnostics, "nics");
  const auto count =
      static_cast<int>(reader.integer("count", {.fallback = std::nullopt, .min = 0, .max = kMaxNics}));
  const Bandwidth line = read_speed(reader, "line");
  for (int i = 0; i < count; ++i) node.nics.push_back({line, i * node.pcie_switches / count});
  reader.finish();
}

void read_nics(const Json& json, Diagnostics& diagnostics, Node& node) {
  if (json.is_object()) {
    read_even_nics(json, diagnostics, node);
    return;
  }
  if (!json.is_array() || json.items.size() > kMaxNics) {
    diagnostics.error(json.place, fmt::format("nics is {}", kind_name(json.kind)),
                      fmt::format("an object with count and line, or a list of at most {}", kMaxNics));
    return;
  }
  for (const Json& item : json.items) {
    ObjectReader reader(item, diagnostics, "nic");
    Nic nic;
    nic.line = read_speed(reader, "line");
    nic.pcie_switch = static_cast<int>(
        reader.integer("pcie_switch", {.fallback = std::nullopt, .min = 0, .max = node.pcie_switches - 1}));
    reader.finish();
    node.nics.push_back(nic);
  }
}

void check_intra(ObjectReader& reader, const Gpu& gpu, const Node& node) {
  Diagnostics& diagnostics = reader.diagnostics();
  if (node.intra != IntraKind::pcie && gpu.nvlinks == 0 && !gpu.name.empty())
    diagnostics.error(reader.place("intra"), fmt::format("{} has no NVLink", gpu.name), "use pcie");
  if (node.intra == IntraKind::cube_mesh && node.gpus != 8)
    diagnostics.error(reader.place("gpus"), fmt::format("a cube mesh of {} GPUs", node.gpus),
                      "a cube mesh has 8");
  if (node.intra == IntraKind::cube_mesh && gpu.nvlinks > 0 && gpu.nvlinks < 6)
    diagnostics.error(reader.place("intra"), fmt::format("{} has {} NVLinks", gpu.name, gpu.nvlinks),
                      "a cube mesh needs 6");
  if (node.intra == IntraKind::nvlink_mesh && gpu.nvlinks > 0 && gpu.nvlinks < node.gpus - 1)
    diagnostics.error(reader.place("intra"),
                      fmt::format("{} NVLinks of a GPU do not reach {} others", gpu.nvlinks, node.gpus - 1),
                      fmt::format("at most {} GPUs", gpu.nvlinks + 1));
  if (node.intra == IntraKind::nvlink_pairs && node.gpus % 2 != 0)
    diagnostics.error(reader.place("gpus"), fmt::format("{} GPUs cannot pair", node.gpus), "an even number");
  if (node.pcie_switches > node.gpus)
    diagnostics.error(reader.place("pcie_switches"),
                      fmt::format("{} PCIe switches for {} GPUs", node.pcie_switches, node.gpus),
                      fmt::format("1 to {}", node.gpus));
  if (node.sockets > node.pcie_switches)
    diagnostics.error(reader.place("sockets"),
                      fmt::format("{} sockets share {} PCIe switches", node.sockets, node.pcie_switches),
                      fmt::format("1 to {}", node.pcie_switches));
  if (node.nvls && (node.intra != IntraKind::nvswitch || gpu.compute_capability < 90))
    diagnostics.error(reader.place("nvls"), "NVLS needs NVSwitches that reduce",
                      "Hopper or later, intra nvswitch");
}

// Ranks of a CPU machine meet in its memory: to the network model, one PCIe switch as fast as that.
void read_cpu_node(ObjectReader& reader, Node& node) {
  node.intra = IntraKind::pcie;
  node.sockets = 1;
  node.cores =
      static_cast<int>(reader.integer("cores", {.fallback = std::nullopt, .min = 1, .max = kMaxCores}));
  if (const Json* nics = reader.child("nics"); nics != nullptr) read_nics(*nics, reader.diagnostics(), node);
}

void read_gpu_node(ObjectReader& reader, const Gpu& gpu, Node& node) {
  node.intra = reader.choice<IntraKind>("intra", std::nullopt,
                                        {{"nvswitch", IntraKind::nvswitch},
                                         {"cube_mesh", IntraKind::cube_mesh},
                                         {"nvlink_mesh", IntraKind::nvlink_mesh},
                                         {"nvlink_pairs", IntraKind::nvlink_pairs},
                                         {"pcie", IntraKind::pcie}});
  node.pcie_switches = static_cast<int>(
      reader.integer("pcie_switches", {.fallback = std::nullopt, .min = 1, .max = kMaxSwitches}));
  node.sockets = static_cast<int>(reader.integer("sockets", {.fallback = std::nullopt, .min = 1, .max = 8}));
  if (node.sockets > 1 || reader.has("socket_link")) node.socket_link = read_speed(reader, "socket_link");
  node.nvls = reader.boolean("nvls", false);
  if (const Json* nics = reader.child("nics"); nics != nullptr) read_nics(*nics, reader.diagnostics(), node);
  check_intra(reader, gpu, node);
}

}  // namespace

void read_node(const Json& json, Diagnostics& diagnostics, const Gpu& gpu, bool graph, Node& node) {
  ObjectReader reader(json, diagnostics, "node");
  if (const Json& host = reader.required("host"); !host.is_null()) read_host(host, diagnostics, node);
  if (!graph) {
    node.gpus = static_cast<int>(
        reader.integer("gpus", {.fallback = std::nullopt, .min = 1, .max = kMaxGpusPerNode}));
    if (gpu.kind == DeviceKind::cpu)
      read_cpu_node(reader, node);
    else
      read_gpu_node(reader, gpu, node);
  } else if (gpu.kind == DeviceKind::cpu) {
    diagnostics.error(reader.place(), "a graph of a CPU machine", "a node with gpus (its ranks) and cores");
  }
  reader.finish();
}

void read_fabric(const Json& json, Diagnostics& diagnostics, Fabric& fabric) {
  ObjectReader reader(json, diagnostics, "fabric");
  fabric.kind = reader.choice<FabricKind>("kind", std::nullopt,
                                          {{"none", FabricKind::none},
                                           {"one_switch", FabricKind::one_switch},
                                           {"fat_tree_2", FabricKind::fat_tree_2},
                                           {"fat_tree_3", FabricKind::fat_tree_3},
                                           {"rail_optimised", FabricKind::rail_optimised}});
  if (fabric.kind != FabricKind::none) {
    fabric.transport = reader.choice<Transport>("transport", std::nullopt,
                                                {{"rdma", Transport::rdma}, {"tcp", Transport::tcp}});
    fabric.hop_latency = read_delay(reader, "hop_latency");
    fabric.efficiency = reader.number("efficiency", {.fallback = std::nullopt, .min = 0.01, .max = 1.0});
    fabric.nic_source = reader.text("nic_source", std::nullopt);
  }
  const bool leaves = fabric.kind == FabricKind::fat_tree_2 || fabric.kind == FabricKind::fat_tree_3 ||
                      fabric.kind == FabricKind::rail_optimised;
  if (leaves) {
    fabric.oversubscription = reader.number("oversubscription", {.fallback = 1.0, .min = 1.0, .max = 1000.0});
    fabric.nodes_per_leaf = static_cast<int>(
        reader.integer("nodes_per_leaf", {.fallback = std::nullopt, .min = 1, .max = 1'000'000}));
  }
  if (fabric.kind == FabricKind::fat_tree_3) {
    fabric.leaves_per_pod = static_cast<int>(
        reader.integer("leaves_per_pod", {.fallback = std::nullopt, .min = 1, .max = 1'000'000}));
    fabric.pod_oversubscription =
        reader.number("pod_oversubscription", {.fallback = 1.0, .min = 1.0, .max = 1000.0});
  }
  reader.finish();
}

}  // namespace orrery::hardware
