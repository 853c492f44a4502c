// Members of one pattern get equal plans, whoever they are; members that sit differently have different
// patterns.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

#include "sim/network/alpha_beta.h"
#include "tests/sim/network/clusters.h"

namespace orrery::sim {
namespace {

using schedule::OpKind;
using Members = std::vector<std::int64_t>;

constexpr const char* kTree = R"({"base": "hardware/clusters/dgx-a100-80g.json", "nodes": 4,
  "fabric": {"kind": "fat_tree_2", "transport": "rdma", "hop_latency": "0 us", "efficiency": 0.95, "oversubscription": 4.0,
             "nodes_per_leaf": 2, "nic_source": "assumed"},
  "node": {"nics": {"count": 8, "line": "200 Gbit/s"}}})";

void expect_equal(const TransferPlan& a, const TransferPlan& b) {
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.latency, b.latency);
  EXPECT_EQ(a.algorithm, b.algorithm);
  EXPECT_EQ(a.protocol, b.protocol);
  EXPECT_EQ(a.crosses_nodes, b.crosses_nodes);
  EXPECT_EQ(a.sms, b.sms);
  EXPECT_EQ(a.port_weight, b.port_weight);
  EXPECT_EQ(a.pcie_weight, b.pcie_weight);
  EXPECT_EQ(a.port_is_pcie, b.port_is_pcie);
  EXPECT_EQ(a.nic_weight, b.nic_weight);
  EXPECT_EQ(a.explanation, b.explanation);
}

void expect_same_plans(const AlphaBeta& model, const Members& a, const Members& b) {
  for (const OpKind kind : {OpKind::all_reduce, OpKind::all_gather, OpKind::reduce_scatter,
                            OpKind::all_to_all, OpKind::broadcast})
    for (const std::int64_t bytes : {1'000, 3'000'000, 2'000'000'000})
      expect_equal(model.collective(kind, Bytes(bytes), a), model.collective(kind, Bytes(bytes), b));
  if (a.size() != 2) return;
  for (const std::int64_t bytes : {1'000, 2'000'000'000})
    expect_equal(model.point_to_point(a[0], a[1], Bytes(bytes)),
                 model.point_to_point(b[0], b[1], Bytes(bytes)));
}

// Random groups of two to six ranks; each is compared with the first that has its pattern. Returns how many
// were.
int expect_patterns_decide(const hardware::Cluster& cluster, std::uint64_t seed) {
  const AlphaBeta model(cluster, {});
  std::mt19937_64 random(seed);
  std::map<std::uint64_t, Members> first;
  int compared = 0;
  for (int i = 0; i < 300; ++i) {
    Members all(static_cast<std::size_t>(cluster.gpus()));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    Members members;
    const std::uint64_t size = i % 2 == 0 ? 2 : 2 + random() % 5;
    while (members.size() < size) {
      const auto at = static_cast<std::ptrdiff_t>(random() % all.size());
      members.push_back(all[static_cast<std::size_t>(at)]);
      all.erase(all.begin() + at);
    }
    const auto [known, fresh] = first.try_emplace(model.pattern(members), members);
    if (fresh) continue;
    ++compared;
    expect_same_plans(model, known->second, members);
    if (::testing::Test::HasFailure()) return compared;
  }
  return compared;
}

TEST(Pattern, EqualPatternsHaveEqualPlans) {
  for (const char* name : {"a100-80g-16x8", "p4d-16x8", "v100-dgx-1-16x8", "v100-4gpu-2edr-16x4"}) {
    SCOPED_TRACE(name);
    EXPECT_GT(expect_patterns_decide(shipped_cluster(name), 1), 10);
  }
  EXPECT_GT(expect_patterns_decide(cluster_of(kTree), 2), 10);
  EXPECT_GT(expect_patterns_decide(
                cluster_of(R"({"base": "hardware/clusters/p4d-16x8.json", "placement": "round_robin"})"), 3),
            10);
}

TEST(Pattern, MachinesOfOneLeafAreAlike) {
  const AlphaBeta model(cluster_of(kTree), {});
  EXPECT_EQ(model.pattern(ranks(8)), model.pattern(ranks(8, 1, 16)));
  EXPECT_EQ(model.pattern(Members{0, 8}), model.pattern(Members{16, 24}));  // one leaf each
  EXPECT_EQ(model.pattern(Members{0, 16}), model.pattern(Members{8, 24}));  // across
}

TEST(Pattern, AnotherPlacementIsAnotherPattern) {
  const AlphaBeta model(cluster_of(kTree), {});
  const std::vector<Members> different = {{0, 1},  {0, 2},    {1, 0},    {0, 8},    {0, 9},
                                          {0, 16}, {0, 1, 2}, {0, 1, 8}, {0, 8, 1}, {0, 8, 16}};
  std::map<std::uint64_t, Members> seen;
  for (const Members& members : different)
    EXPECT_TRUE(seen.emplace(model.pattern(members), members).second) << ::testing::PrintToString(members);
  const Duration inside_leaf = model.point_to_point(0, 8, Bytes::from_gib(1)).time;
  EXPECT_GT(model.point_to_point(0, 16, Bytes::from_gib(1)).time, inside_leaf)
      << "why the leaf belongs to the pattern";
}

TEST(Pattern, PlacementOfRanksChangesIt) {
  const std::string base = R"({"base": "hardware/clusters/a100-80g-16x8.json")";
  const AlphaBeta packed(cluster_of(base + "}"), {}),
      robin(cluster_of(base + R"(, "placement": "round_robin"})"), {});
  EXPECT_NE(packed.pattern(ranks(8)), robin.pattern(ranks(8)));
  EXPECT_EQ(packed.pattern(ranks(8)), robin.pattern(ranks(8, 16)));
  EXPECT_EQ(packed.pattern(ranks(8, 8)), robin.pattern(ranks(8)));
}

}  // namespace
}  // namespace orrery::sim
