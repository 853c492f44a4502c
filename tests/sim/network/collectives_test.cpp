// Collectives against numbers that people measured, and against laws that hold for any network.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/network/alpha_beta.h"
#include "tests/sim/network/clusters.h"

namespace orrery::sim {
namespace {

using scenarios::Algorithm;
using scenarios::Protocol;
using schedule::OpKind;

scenarios::Network forced(Algorithm algorithm, Protocol protocol = Protocol::automatic) {
  scenarios::Network network;
  network.algorithm = algorithm;
  network.protocol = protocol;
  return network;
}

TransferPlan all_reduce(const hardware::Cluster& cluster, std::int64_t count, Bytes bytes,
                        const scenarios::Network& network = {}) {
  return AlphaBeta(cluster, network).collective(OpKind::all_reduce, bytes, ranks(count));
}

constexpr double kGiga = 1e9;

// Two machines of 4 V100 with two EDR NICs: measured algbw 23.74 GB/s, so busbw 41.55, above the NICs' 25. A tree sends
// each byte once between two machines; a ring, or more machines, reaches about 24.
TEST(Measured, BusBandwidthOfTwoMachinesIsAboveTheirNics) {
  const hardware::Cluster cluster = shipped_cluster("v100-4gpu-2edr-16x4");
  const TransferPlan two = all_reduce(cluster, 8, Bytes::from_gib(8));
  EXPECT_EQ(two.algorithm, Algorithm::tree);
  EXPECT_NEAR(two.algorithm_bandwidth / kGiga, 23.74, 0.05 * 23.74);
  EXPECT_NEAR(two.bus_bandwidth / kGiga, 41.55, 0.05 * 41.55);
  const TransferPlan ring = all_reduce(cluster, 8, Bytes::from_gib(8), forced(Algorithm::ring));
  EXPECT_NEAR(ring.bus_bandwidth / kGiga, 24.0, 0.05 * 24.0);
  const TransferPlan many = all_reduce(cluster, 32, Bytes::from_gib(8));
  EXPECT_NEAR(many.bus_bandwidth / kGiga, 24.0, 0.05 * 24.0);
}

// 8 H100: ring 365 to 370 GB/s of busbw (algbw 211), NVLS 480 (274), line rate 450.
TEST(Measured, NvlsIsAboveTheLineRateInBusBandwidthOnly) {
  const hardware::Cluster cluster = shipped_cluster("dgx-h100");
  const TransferPlan ring = all_reduce(cluster, 8, Bytes::from_gib(16), forced(Algorithm::ring));
  EXPECT_NEAR(ring.bus_bandwidth / kGiga, 367.0, 8.0);
  EXPECT_NEAR(ring.algorithm_bandwidth / kGiga, 211.0, 5.0);
  const TransferPlan nvls = all_reduce(cluster, 8, Bytes::from_gib(16));
  EXPECT_EQ(nvls.algorithm, Algorithm::nvls);
  EXPECT_NEAR(nvls.bus_bandwidth / kGiga, 480.0, 12.0);
  EXPECT_NEAR(nvls.algorithm_bandwidth / kGiga, 274.0, 7.0);
}

TEST(Measured, EightA100) {
  const TransferPlan plan = all_reduce(shipped_cluster("dgx-a100-80g"), 8, Bytes::from_gib(8));
  EXPECT_NEAR(plan.bus_bandwidth / kGiga, 228.0, 8.0);  // 222 to 235 in five tables
}

// Eight machines under one switch 43.5 GB/s; four on each of two switches with a thin spine 19.5.
TEST(Measured, AThinSpineLimitsTheRing) {
  const std::string machine = R"({"base": "hardware/clusters/p4d-16x8.json", "nodes": 8, "fabric": )";
  const std::string common = R"("transport": "rdma", "hop_latency": "0 us", "efficiency": 0.87, "nic_source": "test")";
  const hardware::Cluster one = cluster_of(machine + R"({"kind": "one_switch", )" + common + "}}");
  const hardware::Cluster two = cluster_of(machine + R"({"kind": "fat_tree_2", "nodes_per_leaf": 4,
    "oversubscription": 8.92, )" + common + "}}");
  const Bytes bytes = Bytes::from_gib(16);
  EXPECT_NEAR(all_reduce(one, 64, bytes, forced(Algorithm::ring)).bus_bandwidth / kGiga, 43.5, 0.5);
  EXPECT_NEAR(all_reduce(two, 64, bytes, forced(Algorithm::ring)).bus_bandwidth / kGiga, 19.5, 0.3);
  EXPECT_NEAR(all_reduce(two, 32, bytes, forced(Algorithm::ring)).bus_bandwidth / kGiga, 43.5, 0.5);  // within a leaf
}

// A ring whose machines alternate between leaves crosses the spine at every step.
TEST(Fabric, OrderOfMachinesDecidesHowOftenTheSpineIsCrossed) {
  const hardware::Cluster cluster = cluster_of(R"({"base": "hardware/clusters/a100-80g-16x8.json", "nodes": 8,
    "fabric": {"kind": "fat_tree_2", "nodes_per_leaf": 4, "oversubscription": 4, "leaves_per_pod": null}})");
  const AlphaBeta model(cluster, forced(Algorithm::ring));
  const std::vector<std::int64_t> in_order = {0, 8, 16, 24, 32, 40, 48, 56}, alternating = {0, 32, 8, 40, 16, 48, 24, 56};
  const double good = model.collective(OpKind::all_gather, Bytes::from_gib(4), in_order).bus_bandwidth;
  const double bad = model.collective(OpKind::all_gather, Bytes::from_gib(4), alternating).bus_bandwidth;
  EXPECT_NEAR(good / bad, 4.0, 0.05);
}

TEST(Ring, TimeIsStepsTimesShareOverBandwidthPlusLatency) {
  const hardware::Cluster cluster = shipped_cluster("a100-80g-16x8");
  const double bus = 25e9 * 0.95;  // one NIC a machine
  for (const std::int64_t n : {2, 4, 16}) {
    const AlphaBeta model(cluster, forced(Algorithm::ring, Protocol::simple));
    const Bytes bytes = Bytes::from_mib(256);
    const TransferPlan plan = model.collective(OpKind::all_reduce, bytes, ranks(n, 8));
    const double steps = 2.0 * static_cast<double>(n - 1);
    const double transfer = steps / static_cast<double>(n) * static_cast<double>(bytes.count()) / bus;
    EXPECT_NEAR(plan.time.seconds(), plan.latency.seconds() + transfer, 1e-9) << n;
    // base 8.4 us x 1.4 (Ampere) + 2 (n - 1) hops of 14 us, all lengthened by 1.4, + 20 us.
    EXPECT_NEAR(plan.latency.seconds() * 1e6, (8.4 * 1.4 + steps * 14.0) * 1.4 + 20.0, 1e-3) << n;
  }
}

TEST(Ring, AllGatherAndReduceScatterAreHalfAnAllReduce) {
  const AlphaBeta model(shipped_cluster("a100-80g-16x8"), forced(Algorithm::ring, Protocol::simple));
  const auto seconds = [&](OpKind kind) { return model.collective(kind, Bytes::from_gib(8), ranks(128)).time.seconds(); };
  EXPECT_NEAR(seconds(OpKind::all_gather) / seconds(OpKind::all_reduce), 0.5, 0.01);
  EXPECT_NEAR(seconds(OpKind::reduce_scatter) / seconds(OpKind::all_reduce), 0.5, 0.01);
}

TEST(Laws, HalvingTheBandwidthSlowsWhatIsBoundByIt) {
  const hardware::Cluster fast = shipped_cluster("a100-80g-16x8");
  hardware::Cluster slow = fast;
  for (hardware::Nic& nic : slow.node.nics) nic.line = nic.line / 2.0;
  for (const OpKind kind : {OpKind::all_reduce, OpKind::all_gather, OpKind::reduce_scatter, OpKind::all_to_all, OpKind::broadcast}) {
    const auto seconds = [&](const hardware::Cluster& cluster) {
      return AlphaBeta(cluster, {}).collective(kind, Bytes::from_gib(1), ranks(128)).time.seconds();
    };
    EXPECT_GT(seconds(slow), 1.8 * seconds(fast)) << schedule::name(kind);
  }
  const auto pair = [](const hardware::Cluster& cluster) {
    return AlphaBeta(cluster, {}).point_to_point(0, 8, Bytes::from_gib(1)).time.seconds();
  };
  EXPECT_NEAR(pair(slow) / pair(fast), 2.0, 0.01);
}

// More bytes take longer; only where NCCL changes algorithm or protocol may a larger message be faster.
TEST(Laws, TimeGrowsWithSizeWhileTheChoiceStays) {
  for (const char* name : {"a100-80g-16x8", "h100-16x8", "v100-dgx-1-16x8", "p4d-16x8", "rtx-4090-8"}) {
    const hardware::Cluster cluster = shipped_cluster(name);
    const AlphaBeta model(cluster, {});
    for (const std::int64_t count : {2L, 8L, 32L}) {
      if (count > cluster.gpus()) continue;
      TransferPlan before;
      for (std::int64_t bytes = 64; bytes < (std::int64_t{1} << 34); bytes += bytes / 2) {
        const TransferPlan plan = model.collective(OpKind::all_reduce, Bytes(bytes), ranks(count));
        const bool same = plan.algorithm == before.algorithm && plan.protocol == before.protocol;
        const bool factor_steps = plan.algorithm == Algorithm::tree;  // NCCL's table by size is not monotone
        if (same && !factor_steps) {
          EXPECT_GE(plan.time, before.time) << name << " " << count << " " << bytes;
        }
        before = plan;
      }
    }
  }
}

// What leaves an endpoint in the time of the transfer never exceeds what the endpoint can carry.
TEST(Laws, NoEndpointIsOverCapacity) {
  for (const char* name : {"a100-80g-16x8", "h100-16x8", "v100-dgx-1-16x8", "p4d-16x8", "a100-80g-16x8-tcp-25g"}) {
    const AlphaBeta model(shipped_cluster(name), {});
    for (const auto& members : {ranks(8), ranks(128), ranks(16, 8), ranks(32, 4), ranks(3, 8, 1)})
      for (const OpKind kind : {OpKind::all_reduce, OpKind::all_gather, OpKind::all_to_all})
        for (const std::int64_t bytes : {std::int64_t{1} << 12, std::int64_t{1} << 24, std::int64_t{1} << 33}) {
          const TransferPlan plan = model.collective(kind, Bytes(bytes), members);
          std::vector<double> sum(model.resource_count(), 0.0);
          for (const std::int64_t rank : members) {
            std::vector<Load> loads;
            model.loads(plan, rank, true, true, loads);
            for (const Load& load : loads) sum[load.resource] += load.weight;
          }
          for (std::uint32_t r = 0; r < sum.size(); ++r)
            ASSERT_LE(sum[r], kFullLoad * 1.001) << name << " " << schedule::name(kind) << " " << bytes << " "
                                                 << model.resource_name(r) << " " << plan.explanation;
        }
  }
}

TEST(Laws, EffectiveRateStaysBelowTheLine) {
  const hardware::Cluster cluster = shipped_cluster("a100-80g-16x8");
  const AlphaBeta model(cluster, {});
  const double line = 8 * 25e9;
  for (const std::int64_t count : {16L, 32L, 64L, 128L}) {
    const TransferPlan plan = model.collective(OpKind::all_reduce, Bytes::from_gib(16), ranks(count));
    EXPECT_LE(plan.algorithm_bandwidth, line) << count;
  }
}

TEST(Choice, SmallMessagesTakeTreesAndLlLargeOnesRingsAndSimple) {
  const hardware::Cluster cluster = shipped_cluster("a100-80g-16x8");
  const TransferPlan small = all_reduce(cluster, 128, Bytes(1024));
  EXPECT_EQ(small.algorithm, Algorithm::tree);
  EXPECT_EQ(small.protocol, Protocol::ll);
  const TransferPlan large = all_reduce(cluster, 128, Bytes::from_gib(8));
  EXPECT_EQ(large.algorithm, Algorithm::ring);
  EXPECT_EQ(large.protocol, Protocol::simple);
}

TEST(Choice, AForcedAlgorithmIsTaken) {
  const hardware::Cluster cluster = shipped_cluster("a100-80g-16x8");
  const TransferPlan tree = all_reduce(cluster, 128, Bytes::from_gib(1), forced(Algorithm::tree, Protocol::ll));
  EXPECT_EQ(tree.algorithm, Algorithm::tree);
  EXPECT_EQ(tree.protocol, Protocol::ll);
  const AlphaBeta model(cluster, forced(Algorithm::tree));
  const TransferPlan gather = model.collective(OpKind::all_gather, Bytes::from_gib(1), ranks(128));
  EXPECT_EQ(gather.algorithm, Algorithm::ring);
  EXPECT_NE(gather.explanation.find("does not exist"), std::string::npos);
}

TEST(Choice, TcpHasNoLl128) {
  const hardware::Cluster cluster = shipped_cluster("a100-80g-16x8-tcp-25g");
  for (std::int64_t bytes = 1024; bytes < (1 << 28); bytes *= 2)
    EXPECT_NE(all_reduce(cluster, 128, Bytes(bytes)).protocol, Protocol::ll128) << bytes;
}

TEST(Edges, OneMemberMovesNothing) {
  const AlphaBeta model(shipped_cluster("dgx-a100-80g"), {});
  EXPECT_EQ(model.collective(OpKind::all_reduce, Bytes::from_gib(1), ranks(1)).time, Duration());
  EXPECT_THROW(static_cast<void>(model.point_to_point(1, 1, Bytes(1))), InternalError);
}

TEST(Edges, NoBytesTakeTheLatency) {
  const AlphaBeta model(shipped_cluster("a100-80g-16x8"), {});
  const TransferPlan plan = model.collective(OpKind::all_reduce, Bytes(0), ranks(16));
  EXPECT_EQ(plan.time, plan.latency);
  EXPECT_GT(plan.time, Duration());
}

// NVLS runs with Simple only: who forces both NVLS and LL keeps the algorithm, and gives up the protocol.
TEST(Forced, TheAlgorithmIsKeptBeforeTheProtocol) {
  const hardware::Cluster cluster = shipped_cluster("dgx-h100");
  const TransferPlan plan = all_reduce(cluster, 8, Bytes::from_mib(64), forced(Algorithm::nvls, Protocol::ll));
  EXPECT_EQ(plan.algorithm, Algorithm::nvls);
  EXPECT_EQ(plan.protocol, Protocol::simple);
  const AlphaBeta model(cluster, forced(Algorithm::tree, Protocol::ll));  // gathers have rings only
  EXPECT_EQ(model.collective(OpKind::all_gather, Bytes::from_mib(64), ranks(8)).protocol, Protocol::ll);
}

}  // namespace
}  // namespace orrery::sim
