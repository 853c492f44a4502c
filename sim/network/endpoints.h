// What transfers share: each GPU's NVLink ports (out, in) and PCIe slot (out, in), each NIC (out, in). This file numbers
// and names them, says where a rank sits, and which NICs a GPU uses.
//
// Affinity. A GPU uses the NICs that are nearest to it by route cost. GPUs that have the same nearest NICs share them
// out: with more NICs than GPUs each GPU takes its part of them, else each takes one (NCCL src/graph/topo.cc,
// ncclTopoGetLocalNet). In a template all machines are alike, so one machine's tables serve all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/cluster.h"
#include "sim/network/topology.h"

namespace orrery::sim {

struct GpuPlace {
  std::int64_t node = 0;
  int local = 0;
};

class Endpoints {
 public:
  Endpoints(const hardware::Cluster& cluster, const Topology& topology, const RouteTable& routes);

  GpuPlace place(std::int64_t rank) const;
  int gpus_per_node() const { return gpus_per_node_; }
  // NICs of a GPU, as indices within its machine; empty: the machine has none.
  const std::vector<int>& nics_of(const GpuPlace& gpu) const { return gpus_[table_index(gpu)].nics; }
  double nvlink_capacity(const GpuPlace& gpu) const { return gpus_[table_index(gpu)].nvlink; }  // B/s, one direction
  double pcie_capacity(const GpuPlace& gpu) const { return gpus_[table_index(gpu)].pcie; }
  double nic_capacity(std::int64_t node, int nic) const;  // usable
  int nics_on(std::int64_t node) const { return static_cast<int>(nics_at(node).vertices.size()); }
  VertexIndex vertex_of(const GpuPlace& gpu) const;
  VertexIndex nic_vertex(std::int64_t node, int nic) const;

  enum Port : std::uint8_t { nvlink_out, nvlink_in, pcie_out, pcie_in };
  std::uint32_t resource_count() const;
  std::uint32_t gpu_resource(const GpuPlace& gpu, Port port) const;
  std::uint32_t nic_resource(std::int64_t node, int nic, bool in) const;
  std::string resource_name(std::uint32_t resource) const;
  std::string gpu_name(const GpuPlace& gpu) const;
  std::string nic_name(std::int64_t node, int nic) const;

 private:
  struct GpuTable {
    double nvlink = 0.0, pcie = 0.0;
    std::vector<int> nics;
  };
  struct NodeNics {
    std::vector<VertexIndex> vertices;
    std::vector<double> capacity;
  };
  std::size_t table_index(const GpuPlace& gpu) const;
  const NodeNics& nics_at(std::int64_t node) const { return nics_[explicit_ ? static_cast<std::size_t>(node) : 0]; }
  void share_nics(const RouteTable& routes, std::size_t node);

  const hardware::Cluster& cluster_;
  const Topology& topology_;
  bool explicit_ = false;
  std::int64_t nodes_ = 1;
  int gpus_per_node_ = 1;
  std::vector<GpuTable> gpus_;            // of one machine, or of all
  std::vector<NodeNics> nics_;            // of one machine, or of all
  std::vector<std::uint32_t> first_nic_;  // resource number of each machine's first NIC
};

}  // namespace orrery::sim
