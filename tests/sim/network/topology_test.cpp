// Node graphs and routes: which links lie between two GPUs, and how much a ring through some of them can
// carry.
#include "sim/network/topology.h"

#include <gtest/gtest.h>

#include "sim/network/endpoints.h"
#include "sim/network/group_links.h"
#include "sim/network/ring_search.h"
#include "tests/sim/network/clusters.h"

namespace orrery::sim {
namespace {

std::vector<std::string> names(const Topology& topology, const Route& route) {
  std::vector<std::string> result;
  for (const ArcIndex arc : route.arcs) result.push_back(arc_name(topology.graph, arc));
  return result;
}

struct Machine {
  explicit Machine(const hardware::Cluster& of)
      : cluster(of), topology(build_topology(cluster)), routes(topology) {}
  hardware::Cluster cluster;
  Topology topology;
  RouteTable routes;
  Route between(std::size_t a, std::size_t b) const {
    return routes.route(topology.gpus[a], topology.gpus[b]);
  }
  double ring(std::size_t gpus) const {
    return search_rings(topology, routes,
                        {topology.gpus.begin(), topology.gpus.begin() + static_cast<long>(gpus)})
               .total() *
           1e-9;
  }
};

TEST(Topology, NvswitchJoinsEveryPairAtFullSpeed) {
  const Machine machine(shipped_cluster("dgx-a100-80g"));
  const Route route = machine.between(0, 7);
  EXPECT_EQ(names(machine.topology, route),
            (std::vector<std::string>{"gpu0 -> nvswitch", "nvswitch -> gpu7"}));
  EXPECT_DOUBLE_EQ(route.width, 240e9);
  EXPECT_TRUE(route.nvlink_only);
}

TEST(Topology, EveryGpuOfTheCubeMeshHasSixLinks) {
  const Machine machine(shipped_cluster("dgx-1-v100"));
  const Endpoints ends(machine.cluster, machine.topology, machine.routes);
  for (int g = 0; g < 8; ++g) EXPECT_DOUBLE_EQ(ends.nvlink_capacity({0, g}), 6 * 20e9) << g;
}

// No direct link: through a neighbour that both have, still NVLink.
TEST(Topology, CubeMeshRoutesThroughANeighbour) {
  const Machine machine(shipped_cluster("dgx-1-v100"));
  EXPECT_EQ(machine.between(0, 3).arcs.size(), 1U);
  EXPECT_DOUBLE_EQ(machine.between(0, 3).width, 40e9);
  EXPECT_DOUBLE_EQ(machine.between(0, 1).width, 20e9);
  EXPECT_EQ(machine.between(0, 7).arcs.size(), 2U);
  EXPECT_DOUBLE_EQ(machine.between(0, 7).width, 40e9);  // by GPU 4; by GPU 3 it would be 20
  EXPECT_TRUE(machine.between(0, 7).nvlink_only);
}

TEST(Topology, PcieGoesThroughTheHostsOnlyWhereItMust) {
  const Machine machine(shipped_cluster("rtx-4090-8"));
  EXPECT_EQ(names(machine.topology, machine.between(0, 7)),
            (std::vector<std::string>{"gpu0 -> pcie0", "pcie0 -> host0", "host0 -> host1", "host1 -> pcie7",
                                      "pcie7 -> gpu7"}));
  EXPECT_DOUBLE_EQ(machine.between(0, 7).width, 16e9);
  EXPECT_DOUBLE_EQ(machine.between(0, 1).width, 24e9);
}

TEST(Topology, PairsUseTheirBridgeAndPcieElsewhere) {
  const Machine machine(cluster_of(R"({"base": "hardware/clusters/dgx-a100-80g.json",
    "gpu": "hardware/gpus/a100-pcie-80gb.json", "node": {"intra": "nvlink_pairs"}})"));
  EXPECT_TRUE(machine.between(2, 3).nvlink_only);
  EXPECT_FALSE(machine.between(1, 2).nvlink_only);
  EXPECT_DOUBLE_EQ(machine.between(2, 3).width, 240e9);
}

// Four V100 with six links each: two to every other one, and as much of a ring as six links carry.
TEST(Topology, MeshSharesTheLinksOfAGpuOutOverItsPairs) {
  const Machine machine(shipped_cluster("v100-4gpu-2edr-16x4"));
  for (const std::size_t to : {1U, 2U, 3U}) {
    EXPECT_EQ(machine.between(0, to).arcs.size(), 1U);
    EXPECT_DOUBLE_EQ(machine.between(0, to).width, 2 * 20e9);
  }
  EXPECT_DOUBLE_EQ(machine.ring(2), 2 * 20.0);
  EXPECT_DOUBLE_EQ(machine.ring(4), 6 * 20.0);
}

// DGX-1, GPUs 0 .. n-1: nccl-tests measured 22.5, 45, 85, 37, 46, 87, 134 GB/s of busbw with links of 22.4.
TEST(RingSearch, CubeMeshGivesAsManyRingsAsMeasured) {
  const Machine machine(shipped_cluster("dgx-1-v100"));
  EXPECT_DOUBLE_EQ(machine.ring(2), 1 * 20.0);
  EXPECT_DOUBLE_EQ(machine.ring(3), 2 * 20.0);
  EXPECT_DOUBLE_EQ(machine.ring(4), 4 * 20.0);
  EXPECT_DOUBLE_EQ(machine.ring(5),
                   2 * 20.0);  // GPU 4 has one neighbour among them: its other hop passes through GPU 0
  EXPECT_DOUBLE_EQ(machine.ring(6), 2 * 20.0);
  EXPECT_DOUBLE_EQ(machine.ring(7), 4 * 20.0);
  EXPECT_DOUBLE_EQ(machine.ring(8), 6 * 20.0);
}

TEST(RingSearch, PcieBoxIsLimitedBetweenSockets) {
  const Machine machine(shipped_cluster("rtx-4090-8"));
  EXPECT_DOUBLE_EQ(machine.ring(4), 24.0);  // one socket
  EXPECT_DOUBLE_EQ(machine.ring(8), 16.0);
}

// Every GPU behind a thin link of its own kind: rings exist, at whatever speed.
TEST(RingSearch, AlwaysFindsARing) {
  std::string vertices = R"({"name": "hub", "kind": "pcie_switch", "node": 0})", links;
  for (int g = 0; g < 40; ++g) {
    const std::string name = "g" + std::to_string(g);
    vertices += R"(, {"name": ")" + name + R"(", "kind": "gpu", "node": 0})";
    links += std::string(g > 0 ? ", " : "") + R"({"from": "hub", "to": ")" + name + R"(", "usable": ")" +
             std::to_string(g + 1) + R"( GB/s", "latency": "0 us"})";
  }
  const Machine machine(
      cluster_of(R"({"base": "hardware/clusters/a100-nv4-4.json", "graph": {"vertices": [)" + vertices +
                 R"(], "links": [)" + links + "]}}"));
  EXPECT_DOUBLE_EQ(machine.ring(40), 1.0);
}

TEST(RingSearch, FourGpusJoinedInPairsOfFourLinks) {
  const Machine machine(shipped_cluster("a100-nv4-4"));
  EXPECT_DOUBLE_EQ(machine.ring(2), 80.0);
  EXPECT_NEAR(machine.ring(4), 240.0, 1e-6);
}

TEST(Channels, AsNcclReportsThem) {
  const auto plan = [](const char* name) { return nvswitch_channels(shipped_cluster(name).gpu); };
  EXPECT_EQ(plan("dgx-a100-80g").channels, 24);
  EXPECT_DOUBLE_EQ(plan("dgx-a100-80g").bus, 240.0);
  EXPECT_EQ(plan("dgx-h100").channels, 24);
  EXPECT_DOUBLE_EQ(plan("dgx-h100").bus, 360.0);
  EXPECT_EQ(plan("dgx-b200").channels, 32);
  EXPECT_DOUBLE_EQ(plan("dgx-b200").bus, 720.0);
}

}  // namespace
}  // namespace orrery::sim
