// A cluster: `nodes` equal nodes of `node.gpus` equal GPUs under one fabric (hardware/clusters/*.json), or an
// explicit graph. The structure here is what the file says; sim/network turns it into links and paths.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "hardware/gpu.h"
#include "hardware/transfer_table.h"

namespace orrery::hardware {

enum class IntraKind : std::uint8_t {
  nvswitch,      // every GPU reaches every other at full NVLink speed
  cube_mesh,     // DGX-1: 8 GPUs, direct links of one or two bricks
  nvlink_mesh,   // every pair has direct links: those of a GPU, shared out evenly over the others
  nvlink_pairs,  // GPUs 2k and 2k+1 share a bridge, everything else goes over PCIe
  pcie,          // a PCIe tree
};

// NIC i hangs under PCIe switch `pcie_switch`; GPUs under the same switch are near (PIX / PXB).
struct Nic {
  Bandwidth line;  // one direction
  int pcie_switch = 0;
};

struct Node {
  int gpus = 0;
  IntraKind intra = IntraKind::nvswitch;
  int pcie_switches =
      1;            // GPU g hangs under switch g * pcie_switches / gpus; switches meet at the host bridge
  int sockets = 2;  // switches are spread evenly over them
  Bandwidth socket_link;  // between sockets, one direction, usable
  std::vector<Nic> nics;
  bool nvls = false;  // NVLink SHARP: in-switch reduction (Hopper NVSwitch and later)
  int cores = 0;  // that the ranks of a CPU machine share, one for each running kernel; 0: they have GPUs
  // The host, for offload and CPU optimizers.
  Bytes host_memory;
  Bandwidth host_memory_bandwidth;
  std::string cpu_vendor;  // "intel", "amd", "other": NCCL's LL limits and overheads differ
};

enum class FabricKind : std::uint8_t { none, one_switch, fat_tree_2, fat_tree_3, rail_optimised };
enum class Transport : std::uint8_t { rdma, tcp };

struct Fabric {
  FabricKind kind = FabricKind::one_switch;
  Transport transport = Transport::rdma;
  Duration hop_latency;               // per network hop beyond NCCL's own constant; RDMA: 0
  double efficiency = 0.0;            // usable share of a NIC's line rate, 0 < e <= 1
  double oversubscription = 1.0;      // capacity below / capacity above a leaf
  int nodes_per_leaf = 0;             // fat trees; for rail_optimised: nodes per rail group
  int leaves_per_pod = 0;             // fat_tree_3
  double pod_oversubscription = 1.0;  // fat_tree_3: capacity below / capacity above a pod
  std::string nic_source;             // where efficiency and latency come from
};

// An explicit graph (instead of a node template and a fabric): vertices and undirected full-duplex links.
enum class VertexKind : std::uint8_t { gpu, nvswitch, pcie_switch, host_bridge, nic, network_switch };
struct GraphVertex {
  std::string name;
  VertexKind kind = VertexKind::gpu;
  int node = 0;  // which machine it belongs to; -1 for network switches
};
struct GraphLink {
  int from = 0, to = 0;  // indices of vertices
  Bandwidth usable;      // one direction
  Duration latency;
};
struct ExplicitGraph {
  std::vector<GraphVertex> vertices;
  std::vector<GraphLink> links;
};

enum class Placement : std::uint8_t { packed, round_robin };  // rank r on node r / g, or on node r % nodes

struct Cluster {
  std::string name;
  std::string source;
  Gpu gpu;
  Node node;
  int nodes = 0;
  Fabric fabric;
  std::optional<ExplicitGraph> graph;
  Placement placement = Placement::packed;
  // GPUs slower than the rest: rank -> speed relative to the type (0 < s <= 1), sorted by rank. Straggler
  // studies.
  std::vector<std::pair<std::int64_t, double>> slow_gpus;
  // Host: time the CPU thread spends to issue one op; fixed memory outside the allocator.
  Duration host_issue_cost;
  Bytes context_bytes;       // CUDA context, ~0.5-1 GiB
  Bytes communicator_bytes;  // NCCL buffers per communicator, 340-390 MiB
  std::shared_ptr<const TransferTable> transfers;  // measured times of collectives and messages; null: none

  std::int64_t gpus() const { return std::int64_t{nodes} * node.gpus; }
};

}  // namespace orrery::hardware
