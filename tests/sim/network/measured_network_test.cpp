// Transfers from measured curves: which curve a group finds, sizes of groups between and beyond the measured
// ones, what is not measured, cores of a CPU machine, links of a GPU machine.
#include "sim/network/measured_network.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/sim/network/clusters.h"

namespace orrery::sim {
namespace {

using schedule::OpKind;
using testing::ElementsAre;
using testing::HasSubstr;

// 2 and 8 ranks on one node, 4 across nodes: 10 us + bytes / (4 GB/s / ranks), at 1 KiB and 1 MiB.
constexpr const char* kCurves = R"({
  "provenance": {"machine": "m", "date": "d", "program": "p"},
  "curves": [
    {"operation": "all_reduce", "ranks": 2, "placement": "one_node", "cores": 0.5, "points": [
      {"bytes": 1024, "seconds": 1.0e-5, "p10": 9e-6, "p90": 1.3e-5}, {"bytes": 1048576, "seconds": 4e-4}]},
    {"operation": "all_reduce", "ranks": 8, "placement": "one_node", "cores": 0.9, "points": [
      {"bytes": 1024, "seconds": 4.0e-5}, {"bytes": 1048576, "seconds": 1.6e-3}]},
    {"operation": "send_recv", "ranks": 2, "placement": "one_node", "cores": 0.7, "points": [
      {"bytes": 1024, "seconds": 5e-6}, {"bytes": 1048576, "seconds": 1e-4}]},
    {"operation": "all_gather", "ranks": 4, "placement": "across_nodes", "points": [{"bytes": 4096, "seconds": 2e-4}]}
  ]
})";

hardware::Cluster cpu_machines(int nodes, int ranks, int cores) {
  return cluster_of(fmt::format(R"({{
    "name": "CPUs", "source": "a test",
    "gpu": {{"kind": "cpu", "name": "core", "source": "a test", "dense_peak": {{"fp32": "50 GFLOP/s"}},
            "memory": "4 GiB", "memory_bandwidth": "10 GB/s",
            "kernel_table": {{"provenance": {{"machine": "m", "date": "d", "program": "p"}}, "op_overhead": "2 us", "kernels": []}}}},
    "nodes": {}, "node": {{"gpus": {}, "cores": {}, "nics": {{"count": 1, "line": "10 Gbit/s"}},
                         "host": {{"memory": "8 GiB", "memory_bandwidth": "20 GB/s", "cpu_vendor": "amd"}}}},
    "fabric": {{"kind": "one_switch", "transport": "tcp", "hop_latency": "10 us", "efficiency": 0.9, "nic_source": "assumed"}},
    "transfers": {}}})",
                                nodes, ranks, cores, kCurves));
}

constexpr double kOverhead = 2e-6;

TEST(MeasuredNetwork, AMeasuredSizeIsItself) {
  const MeasuredNetwork network(cpu_machines(1, 8, 4), {});
  const TransferPlan plan = network.collective(OpKind::all_reduce, Bytes(1024), ranks(2));
  EXPECT_EQ(plan.origin, Origin::measured);
  EXPECT_NEAR(plan.time.seconds(), 1e-5 + kOverhead, 1e-11);
  EXPECT_NEAR(plan.log_high, std::log(1.3), 1e-12);
  EXPECT_EQ(plan.core_weight, kFullLoad / 2);
  EXPECT_EQ(plan.port_weight + plan.pcie_weight + plan.nic_weight, 0U);
  EXPECT_THAT(plan.explanation, HasSubstr("measured (curve of 2 ranks, one_node)"));
  EXPECT_EQ(network.point_to_point(0, 1, Bytes(1048576)).origin, Origin::measured);
  EXPECT_TRUE(network.lacking().empty());
}

TEST(MeasuredNetwork, BetweenSizesOfMessagesAndGroups) {
  const MeasuredNetwork network(cpu_machines(1, 8, 4), {});
  const TransferPlan message = network.collective(OpKind::all_reduce, Bytes(32768), ranks(2));
  EXPECT_EQ(message.origin, Origin::interpolated);
  EXPECT_NEAR(message.time.seconds() - kOverhead, std::sqrt(1e-5 * 4e-4), 1e-9);  // half way in ln(bytes)
  const TransferPlan group = network.collective(OpKind::all_reduce, Bytes(1024), ranks(4));
  EXPECT_EQ(group.origin, Origin::interpolated);
  EXPECT_NEAR(group.time.seconds() - kOverhead, 2e-5, 1e-9);  // half way in ln(ranks)
  EXPECT_LE(group.log_low, -0.05);
}

TEST(MeasuredNetwork, BeyondTheMeasuredGroupsIsModelled) {
  const MeasuredNetwork network(cpu_machines(1, 16, 4), {});
  const TransferPlan plan = network.collective(OpKind::all_reduce, Bytes(1048576), ranks(16));
  const TransferPlan eight = network.collective(OpKind::all_reduce, Bytes(1048576), ranks(8));
  EXPECT_EQ(plan.origin, Origin::modelled);
  EXPECT_GT(plan.time, eight.time);  // more steps
  EXPECT_LT(plan.time.seconds(), 3 * eight.time.seconds());
  EXPECT_GE(plan.log_high, 0.4);
}

TEST(MeasuredNetwork, TheOtherPlacementIsAnotherCurve) {
  const MeasuredNetwork network(cpu_machines(4, 2, 2), {});
  const std::vector<std::int64_t> spread = {0, 2, 4, 6};
  const TransferPlan plan = network.collective(OpKind::all_gather, Bytes(4096), spread);
  EXPECT_EQ(plan.origin, Origin::measured);
  EXPECT_GT(plan.nic_weight, 0U);
  const TransferPlan inside = network.collective(OpKind::all_gather, Bytes(4096), ranks(2));
  EXPECT_EQ(inside.origin, Origin::modelled);
  EXPECT_EQ(inside.core_weight, kFullLoad);  // unknown: a whole core
  EXPECT_THAT(network.lacking(), ElementsAre("all_gather on one node"));
}

TEST(MeasuredNetwork, EveryMemberLoadsTheCoresOfItsMachine) {
  const MeasuredNetwork network(cpu_machines(2, 8, 4), {});
  const TransferPlan plan = network.collective(OpKind::all_reduce, Bytes(1024), ranks(2));
  std::vector<Load> loads;
  network.loads(plan, 9, true, true, loads);
  ASSERT_EQ(loads.size(), 1U);
  EXPECT_EQ(network.resource_name(loads[0].resource), "node1 cores");
  EXPECT_EQ(loads[0].weight, kFullLoad / 8);  // half of one of four
  ASSERT_TRUE(network.cores_of(9).has_value());
  EXPECT_EQ(network.cores_of(9)->resource, loads[0].resource);
  EXPECT_EQ(network.cores_of(9)->weight(), kFullLoad / 4);
}

// On GPUs the links are those of the model below, loaded for as long as was measured.
TEST(MeasuredNetwork, LinksOfAGpuMachineAreLoadedForTheMeasuredTime) {
  hardware::Cluster cluster = shipped_cluster("dgx-a100-80g");
  const AlphaBeta below(cluster, {});
  const TransferPlan modelled = below.collective(OpKind::all_reduce, Bytes(1048576), ranks(2));
  cluster.transfers = cpu_machines(1, 2, 2).transfers;
  const MeasuredNetwork network(cluster, {});
  const TransferPlan plan = network.collective(OpKind::all_reduce, Bytes(1048576), ranks(2));
  EXPECT_NEAR(plan.time.seconds(), 4e-4, 1e-9);
  EXPECT_EQ(plan.core_weight, 0U);
  EXPECT_EQ(plan.sms, modelled.sms);
  const double moved = static_cast<double>(modelled.port_weight) * modelled.time.seconds();
  EXPECT_NEAR(plan.port_weight * plan.time.seconds() / moved, 1.0, 0.01);
  EXPECT_FALSE(network.cores_of(0).has_value());
  EXPECT_EQ(network.resource_count(), below.resource_count());
}

TEST(MeasuredNetwork, CurvesThatBendAreNamed) {
  hardware::Cluster cluster = cpu_machines(1, 2, 2);
  auto table = std::make_shared<hardware::TransferTable>(*cluster.transfers);
  table->curves[0].points.push_back({16777216, 5e-2, 5e-2, 5e-2, 1, 0});
  cluster.transfers = table;
  const MeasuredNetwork network(cluster, {});
  EXPECT_TRUE(network.bent().empty());  // not used yet
  static_cast<void>(network.collective(OpKind::all_reduce, Bytes(1024), ranks(2)));
  ASSERT_EQ(network.bent().size(), 1U);
  EXPECT_THAT(network.bent()[0], HasSubstr("bandwidth falls"));
}

}  // namespace
}  // namespace orrery::sim
