// Placement decides which links a group uses, not its size; and what its members load.
#include <gtest/gtest.h>

#include <map>

#include "sim/network/alpha_beta.h"
#include "tests/sim/network/clusters.h"

namespace orrery::sim {
namespace {

using schedule::OpKind;

GroupLinks links_of(const hardware::Cluster& cluster, const std::vector<std::int64_t>& members) {
  const Topology topology = build_topology(cluster);
  const RouteTable routes(topology);
  const Endpoints ends(cluster, topology, routes);
  return GroupAnalysis(cluster, topology, routes, ends).links(members);
}

// Load of every resource, summed over members.
std::map<std::string, double> summed_loads(const AlphaBeta& model, const TransferPlan& plan,
                                           const std::vector<std::int64_t>& members) {
  std::map<std::string, double> sum;
  for (const std::int64_t rank : members) {
    std::vector<Load> loads;
    model.loads(plan, rank, true, true, loads);
    for (const Load& load : loads) sum[model.resource_name(load.resource)] += static_cast<double>(load.weight) / kFullLoad;
  }
  return sum;
}

TEST(Placement, EightRanksOnOneMachineOrOnEight) {
  const hardware::Cluster cluster = shipped_cluster("a100-80g-16x8");
  const GroupLinks together = links_of(cluster, ranks(8));
  EXPECT_EQ(together.nodes, 1);
  EXPECT_DOUBLE_EQ(together.ring_bus, 240.0);
  const GroupLinks apart = links_of(cluster, ranks(8, 8));
  EXPECT_EQ(apart.nodes, 8);
  EXPECT_EQ(apart.nics, 1);
  EXPECT_NEAR(apart.ring_bus, 25.0 * 0.95, 1e-9);
  const GroupLinks pairs = links_of(cluster, ranks(8, 4));
  EXPECT_EQ(pairs.nodes, 4);
  EXPECT_EQ(pairs.per_node, 2);
  EXPECT_NEAR(pairs.ring_bus, 2 * 25.0 * 0.95, 1e-9);
}

TEST(Placement, RoundRobinTurnsNeighboursIntoStrangers) {
  const hardware::Cluster cluster =
      cluster_of(R"({"base": "hardware/clusters/a100-80g-16x8.json", "placement": "round_robin"})");
  EXPECT_EQ(links_of(cluster, ranks(8)).nodes, 8);
  EXPECT_EQ(links_of(cluster, ranks(8, 16)).nodes, 1);
}

TEST(Placement, OneNicForTwoGpus) {
  const hardware::Cluster cluster = shipped_cluster("p4d-16x8");
  const GroupLinks alone = links_of(cluster, ranks(16, 8));
  EXPECT_EQ(alone.nics, 1);
  EXPECT_NEAR(alone.ring_bus, 12.5 * 0.84, 1e-9);
  const GroupLinks all = links_of(cluster, ranks(128));
  EXPECT_EQ(all.nics, 4);
  EXPECT_DOUBLE_EQ(all.members_per_nic, 2.0);
}

TEST(Placement, GpusOfOneSwitchUseItsNic) {
  const hardware::Cluster cluster = shipped_cluster("p4d-16x8");
  const Topology topology = build_topology(cluster);
  const RouteTable routes(topology);
  const Endpoints ends(cluster, topology, routes);
  for (int g = 0; g < 8; ++g) EXPECT_EQ(ends.nics_of({0, g}), std::vector<int>{g / 2}) << g;
}

// A lone GPU with many NICs cannot fill them: its own slot is narrower.
TEST(Placement, ManyNicsOfOneGpu) {
  const GroupLinks links = links_of(cluster_of(R"({"base": "hardware/clusters/h100-16x8.json",
    "node": {"nics": {"count": 32, "line": "100 Gbit/s"}}})"), ranks(16, 8));
  EXPECT_EQ(links.nics, 4);
  EXPECT_NEAR(links.nic_bus, 4 * 12.5 * 0.925, 1e-9);
}

TEST(Loads, ARingOverAllNicsFillsEachOnceTogether) {
  const hardware::Cluster cluster = shipped_cluster("p4d-16x8");
  scenarios::Network ring;
  ring.algorithm = scenarios::Algorithm::ring;
  const AlphaBeta model(cluster, ring);
  const std::vector<std::int64_t> members = ranks(128);
  const TransferPlan plan = model.collective(OpKind::all_gather, Bytes::from_gib(16), members);
  const std::map<std::string, double> sum = summed_loads(model, plan, members);
  EXPECT_NEAR(sum.at("node3/nic2 out"), 1.0, 0.01);
  EXPECT_NEAR(sum.at("node3/nic2 in"), 1.0, 0.01);
  EXPECT_LT(sum.at("node3/gpu5 NVLink out"), 0.3);
  for (const auto& [name, load] : sum) EXPECT_LE(load, 1.001) << name;
}

// Two data-parallel groups of one machine that share a NIC ask for all of it each: the engine halves them.
TEST(Loads, GroupsThatShareANicAskForItTogether) {
  const hardware::Cluster cluster = shipped_cluster("p4d-16x8");
  const AlphaBeta model(cluster, {});
  double asked = 0.0;
  for (const std::int64_t first : {0, 1}) {
    const std::vector<std::int64_t> members = ranks(16, 8, first);
    const TransferPlan plan = model.collective(OpKind::all_gather, Bytes::from_gib(16), members);
    asked += summed_loads(model, plan, members).at("node0/nic0 out");
  }
  EXPECT_NEAR(asked, 2.0, 0.02);
}

TEST(Loads, APairLoadsOneDirection) {
  const AlphaBeta model(shipped_cluster("a100-80g-16x8"), {});
  const TransferPlan plan = model.point_to_point(3, 11, Bytes::from_gib(1));
  std::vector<Load> sender, receiver;
  model.loads(plan, 3, true, false, sender);
  model.loads(plan, 11, false, true, receiver);
  std::vector<std::string> names;
  for (const Load& load : sender) names.push_back(model.resource_name(load.resource));
  for (const Load& load : receiver) names.push_back(model.resource_name(load.resource));
  EXPECT_EQ(names, (std::vector<std::string>{"node0/gpu3 PCIe out", "node0/nic3 out", "node1/gpu3 PCIe in", "node1/nic3 in"}));
}

TEST(Loads, ResourcesHaveDifferentNames) {
  const AlphaBeta model(shipped_cluster("p4d-16x8"), {});
  std::map<std::string, int> seen;
  for (std::uint32_t r = 0; r < model.resource_count(); ++r) ++seen[model.resource_name(r)];
  EXPECT_EQ(seen.size(), model.resource_count());
  EXPECT_EQ(model.resource_count(), 128U * 4 + 16 * 4 * 2);
}

}  // namespace
}  // namespace orrery::sim
