// The paths that the cluster command prints, and that their names are those of traces.
#include "sim/network/cluster_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/sim/network/clusters.h"

namespace orrery::sim {
namespace {

std::vector<std::string> stations(const ReportPath& path) {
  std::vector<std::string> result = {path.links.front().from};
  for (const ReportLink& link : path.links) result.push_back(link.to);
  return result;
}

TEST(ClusterReport, PathBetweenLeavesOfAFatTree) {
  const AlphaBeta model(shipped_cluster("a100-80g-128x8"), {});
  const ReportPath path = report_path(model, 3, 8 * 20 + 5);
  EXPECT_EQ(stations(path),
            (std::vector<std::string>{"node0/gpu3", "node0/pcie1", "node0/nic3", "leaf0", "pod0/spine",
                                      "leaf1", "node20/nic5", "node20/pcie2", "node20/gpu5"}));
  EXPECT_EQ(path.links[2].shared_as, "node0/nic3 out");
  EXPECT_EQ(path.kind, "network");
  EXPECT_NEAR(path.usable.value(), 25e9 * 0.95, 1e7);
}

TEST(ClusterReport, RailsAreChangedInsideTheMachine) {
  const AlphaBeta model(shipped_cluster("h100-16x8"), {});
  EXPECT_EQ(stations(report_path(model, 0, 8)),
            (std::vector<std::string>{"node0/gpu0", "node0/pcie0", "node0/nic0", "group0/rail0", "node1/nic0",
                                      "node1/pcie0", "node1/gpu0"}));
  EXPECT_EQ(
      stations(report_path(model, 0, 13)),
      (std::vector<std::string>{"node0/gpu0", "node0/nvswitch", "node0/gpu5", "node0/pcie5", "node0/nic5",
                                "group0/rail5", "node1/nic5", "node1/pcie5", "node1/gpu5"}));
}

TEST(ClusterReport, NoPairIsFasterThanAnyOfItsLinks) {
  for (const char* file : {"a100-80g-16x8", "dgx-1-v100", "v100-4gpu-2edr-16x4", "rtx-4090-8", "a100-nv4-4",
                           "dgx-h100", "dgx-b200"}) {
    const AlphaBeta model(shipped_cluster(file), {});
    const auto gpus = static_cast<std::int64_t>(model.cluster().gpus());
    for (std::int64_t to = 1; to < std::min<std::int64_t>(gpus, 16); ++to) {
      const ReportPath path = report_path(model, 0, to);
      for (const ReportLink& link : path.links)
        EXPECT_LE(path.usable.value(), link.usable.value() * 1.000001)
            << file << " 0 -> " << to << ": " << link.from;
    }
  }
}

TEST(ClusterReport, EverySharedNameIsAResource) {
  for (const char* file : {"a100-80g-16x8", "dgx-1-v100", "rtx-4090-8", "a100-nv4-4"}) {
    const AlphaBeta model(shipped_cluster(file), {});
    std::set<std::string> resources;
    for (std::uint32_t r = 0; r < model.resource_count(); ++r) resources.insert(model.resource_name(r));
    int shared = 0;
    for (const ReportLink& link : report_cluster(model).links) {
      if (link.shared_as.empty()) continue;
      ++shared;
      EXPECT_TRUE(resources.contains(link.shared_as)) << file << " " << link.shared_as;
    }
    EXPECT_GT(shared, 0) << file;
  }
}

// An explicit graph of two machines with one GPU each, joined by a thin link.
TEST(ClusterReport, ExplicitGraph) {
  const hardware::Cluster cluster = cluster_of(R"({
    "base": "hardware/clusters/a100-nv4-4.json",
    "graph": {
      "vertices": [
        {"name": "a", "kind": "gpu", "node": 0}, {"name": "b", "kind": "gpu", "node": 1},
        {"name": "na", "kind": "nic", "node": 0}, {"name": "nb", "kind": "nic", "node": 1},
        {"name": "sw", "kind": "network_switch"}
      ],
      "links": [
        {"from": "a", "to": "na", "usable": "24 GB/s", "latency": "0 us"},
        {"from": "b", "to": "nb", "usable": "24 GB/s", "latency": "0 us"},
        {"from": "na", "to": "sw", "usable": "12 GB/s", "latency": "1 us"},
        {"from": "nb", "to": "sw", "usable": "3 GB/s", "latency": "1 us"}
      ]
    }})");
  const AlphaBeta model(cluster, {});
  const ReportPath path = report_path(model, 0, 1);
  EXPECT_EQ(stations(path), (std::vector<std::string>{"a", "na", "sw", "nb", "b"}));
  EXPECT_NEAR(path.usable.value(), 3e9, 1e6);
  EXPECT_EQ(path.links[1].shared_as, "na out");
  const std::vector<std::int64_t> both = {0, 1};
  const TransferPlan plan = model.collective(schedule::OpKind::all_gather, Bytes::from_gib(1), both);
  EXPECT_NEAR(plan.bus_bandwidth, 3e9, 0.03e9);
}

}  // namespace
}  // namespace orrery::sim
