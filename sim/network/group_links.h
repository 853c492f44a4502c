// Which links the members of a group use together, found from where they sit, not from how many they are:
// members of one machine meet over NVLink or PCIe, one member a machine uses its own NIC, and so on.
// Bandwidths are "bus" bandwidths in GB/s (10^9 B/s), as NCCL's model counts them: what a ring through all
// members can carry. Cost: O(members), plus one ring search per distinct set of local GPUs where there is no
// NVSwitch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/network/endpoints.h"
#include "sim/network/fabric.h"
#include "sim/network/ring_search.h"

namespace orrery::sim {

struct GroupLinks {
  std::int64_t ranks = 0, nodes = 0;
  std::int64_t per_node = 0;    // members on the machine that has most
  bool nvlink = true;           // every hop inside machines is NVLink
  bool nvswitch = false;        // and goes through NVSwitches
  int channels = 1;             // parallel rings, as NCCL counts them
  double intra_bus = 0.0;       // rings inside machines; 0 where no machine has two members
  double nic_bus = 0.0;         // NICs that the group uses on one machine; 0 on one machine
  int nics = 0;                 // their number
  double ring_bus = 0.0;        // of the whole ring: the least of the above and of the fabric
  double tree_bus = 0.0;        // of the double binary tree over machines and the chain inside
  double tree_between = 0.0;    // of the tree over machines alone
  double tree_streams = 0.0;    // streams of both trees that leave the busiest machine, half of the data each
  double pair_rate = 0.0;       // inside: what every member can send to every other at the same time
  double exchange_bus = 0.0;    // NIC and fabric limit of one machine sending to all others
  double hop_latency_us = 0.0;  // of a network hop, beyond NCCL's constant
  // Capacities of the narrowest endpoints, GB/s, and how many members share one NIC.
  double nvlink_port = 0.0, pcie_port = 0.0, nic = 0.0;
  double members_per_nic = 1.0;
};

// A double binary tree over n machines: every stream of both trees, both directions. Source: NCCL
// src/graph/trees.cc (ncclGetBtree, ncclGetDtree); Sanders et al. 2009, "Two-tree algorithms for full
// bandwidth broadcast".
Streams double_tree_streams(std::int64_t machines);

class GroupAnalysis {
 public:
  GroupAnalysis(const hardware::Cluster& cluster, const Topology& topology, const RouteTable& routes,
                const Endpoints& endpoints)
      : cluster_(cluster), topology_(topology), routes_(routes), endpoints_(endpoints) {}
  // `members`: at least two different ranks.
  GroupLinks links(std::span<const std::int64_t> members) const;

 private:
  struct Machine {
    std::int64_t node = 0;
    std::vector<int> locals;  // in group order
  };
  std::vector<Machine> machines(std::span<const std::int64_t> members) const;
  static std::vector<std::int64_t> nodes_of(const std::vector<Machine>& machines);
  void add_inside(const Machine& machine, GroupLinks& links) const;
  void add_outside(const Machine& machine, GroupLinks& links) const;
  void limit_by_fabric(const std::vector<Machine>& machines, GroupLinks& links) const;
  double stream_rate(const std::vector<Machine>& machines, const Streams& streams, GroupLinks& links) const;

  const hardware::Cluster& cluster_;
  const Topology& topology_;
  const RouteTable& routes_;
  const Endpoints& endpoints_;
};

// Rings over NVSwitch as NCCL's search finds them: the first speed of its list that fits, channels doubled.
struct ChannelPlan {
  int channels = 1;
  double bus = 0.0;  // GB/s, over all channels
};
ChannelPlan nvswitch_channels(const hardware::Gpu& gpu);

}  // namespace orrery::sim
