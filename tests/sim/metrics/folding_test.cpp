// Ranks of a kind are simulated once, with the network that answers users: for scenarios on two to four
// machines whose links are shared unevenly, the step, the waterfall and the communication of every rank are
// those of a run in which each rank is simulated, to the picosecond.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "schedule/compile.h"
#include "sim/cost/analytic_cost.h"
#include "sim/engine/simulation.h"
#include "sim/network/alpha_beta.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

struct Folding {
  std::string name, cluster, parallel;  // the last two in JSON
  std::size_t classes = 1;              // at most: what is symmetric is one
  std::string framework = "megatron", rest{};
  std::int64_t gpus = 16;
  int batch = 64, layers = 8;
};
void PrintTo(const Folding& f, std::ostream* out) { *out << f.cluster << " " << f.parallel; }

scenarios::Scenario scenario_of(const Folding& f) {
  return testing::written(fmt::format(R"({{ "name": "{}",
  "model": {{ "layers": {}, "hidden": 2048, "heads": 16, "kv_heads": 16, "ffn_hidden": 8192, "vocab": 8192,
             "position": "learned", "max_positions": 1024 }},
  "cluster": {}, "framework": "{}", "parallel": {},
  "training": {{ "global_batch": {}, "micro_batch": 1, "sequence_length": 1024, "precision": "fp16" }}{} }})",
                                      f.name, f.layers, f.cluster, f.framework, f.parallel, f.batch, f.rest));
}

// What one rank went through, in picoseconds.
using Story = std::array<std::int64_t, kShares + schedule::kGroupKinds + 2>;

std::vector<Story> stories(const SimulationResult& result) {
  std::vector<Story> all;
  for (const ClassResult& c : result.classes) {
    Story story{};
    std::size_t at = 0;
    for (const Duration part : c.waterfall) story[at++] = part.ps();
    for (const Duration part : c.communication) story[at++] = part.ps();
    story[at++] = c.communication_any.ps();
    story[at] = c.compute_alone.ps();
    all.insert(all.end(), static_cast<std::size_t>(c.ranks), story);
  }
  std::sort(all.begin(), all.end());
  return all;
}

// The same network without its patterns: every list of members is planned by itself, as nothing folded may
// assume.
class WithoutPatterns final : public NetworkModel {
 public:
  explicit WithoutPatterns(const NetworkModel& model) : model_(model) {}
  TransferPlan collective(schedule::OpKind kind, Bytes bytes,
                          std::span<const std::int64_t> members) const override {
    return model_.collective(kind, bytes, members);
  }
  TransferPlan point_to_point(std::int64_t from, std::int64_t to, Bytes bytes) const override {
    return model_.point_to_point(from, to, bytes);
  }
  std::uint32_t resource_count() const override { return model_.resource_count(); }
  std::string resource_name(std::uint32_t resource) const override { return model_.resource_name(resource); }
  void loads(const TransferPlan& plan, std::int64_t rank, bool sends, bool receives,
             std::vector<Load>& out) const override {
    model_.loads(plan, rank, sends, receives, out);
  }

 private:
  const NetworkModel& model_;
};

// Returns the classes that the folded run took.
std::size_t expect_folded_is_unfolded(const scenarios::Scenario& scenario) {
  const schedule::Schedule schedule = schedule::compile(scenario);
  const hardware::Cluster& cluster = scenario.cluster;
  const auto cost = make_analytic_cost(cluster, scenario.training.precision, scenario.offload.pinned);
  const AlphaBeta network(cluster, scenario.network);
  const WithoutPatterns each(network);
  std::size_t classes = 0;
  for (const bool extrapolate : {false, true}) {
    SimulationOptions options;
    options.extrapolate = extrapolate;
    const SimulationResult folded = simulate(schedule, cluster, *cost, network, options);
    options.fold = false;
    const SimulationResult full = simulate(schedule, cluster, *cost, each, options);
    EXPECT_FALSE(folded.deadlocked || full.deadlocked);
    EXPECT_EQ(full.classes.size(), static_cast<std::size_t>(scenario.parallel.world()));
    EXPECT_TRUE(folded.exact && full.exact);
    EXPECT_EQ(folded.step_time, full.step_time);
    EXPECT_EQ(stories(folded), stories(full)) << "some rank is not what its class is";
    for (const ClassResult& c : folded.classes) {
      const ClassResult& same = full.classes[static_cast<std::size_t>(c.representative)];
      EXPECT_EQ(c.waterfall, same.waterfall) << "rank " << c.representative;
      EXPECT_EQ(c.communication, same.communication) << "rank " << c.representative;
    }
    classes = folded.classes.size();
  }
  return classes;
}

std::string on(const std::string& base, int nodes, const std::string& more = "") {
  return fmt::format(R"({{ "base": "hardware/clusters/{}.json", "nodes": {}{} }})", base, nodes, more);
}

constexpr const char* kTree =
    R"(, "fabric": { "kind": "fat_tree_2", "transport": "rdma", "hop_latency": "0 us",
  "efficiency": 0.95, "oversubscription": 4.0, "nodes_per_leaf": 2, "nic_source": "assumed" })";
constexpr const char* kPods =
    R"(, "fabric": { "kind": "fat_tree_3", "transport": "rdma", "hop_latency": "0 us",
  "efficiency": 0.95, "oversubscription": 2.0, "nodes_per_leaf": 1, "leaves_per_pod": 2, "pod_oversubscription": 3.0,
  "nic_source": "assumed" })";
constexpr const char* kSwitch =
    R"(, "fabric": { "kind": "one_switch", "transport": "rdma", "hop_latency": "0 us",
  "efficiency": 0.95, "nic_source": "assumed" })";
constexpr const char* kSlow = R"(, "slow_gpus": [{ "rank": 5, "speed": 0.8 }])";
constexpr const char* kRobin = R"(, "placement": "round_robin")";

std::string nics(int count) {
  return fmt::format(R"(, "node": {{ "nics": {{ "count": {}, "line": "100 Gbit/s" }} }})", count);
}

// Groups of one machine share its NICs, two or more GPUs to one.
std::vector<Folding> with_few_nics() {
  return {
      {"FourNicsData", on("p4d-16x8", 2), R"({ "zero": 1 })", 1},
      {"FourNicsTensor", on("p4d-16x8", 2), R"({ "tp": 2, "zero": 1 })", 1},
      {"FourNicsZero3", on("p4d-16x8", 2), R"({ "zero": 3 })", 1, "deepspeed"},
      {"FourNicsPipeline", on("p4d-16x8", 2), R"({ "pp": 2 })", 2},
      {"FourNicsOptimizerOnHost", on("p4d-16x8", 2), R"({ "zero": 2 })", 1, "deepspeed",
       R"(, "offload": { "optimizer": "cpu" })"},
      {"ThreeNics", on("a100-80g-16x8", 2, nics(3)), R"({ "tp": 2 })", 8},
      {"TwoNicsFourGpus", on("v100-4gpu-2edr-16x4", 4), R"({ "tp": 2, "pp": 2 })", 2},
  };
}

std::vector<Folding> with_pipelines() {
  return {
      {"PipelineAcross", on("a100-80g-16x8", 2), R"({ "tp": 4, "pp": 4 })", 4},
      {"PipelineOnThree", on("a100-80g-16x8", 3), R"({ "tp": 4, "pp": 6 })", 6, "megatron", "", 24, 16, 12},
      {"PipelineInterleaved", on("a100-80g-16x8", 2), R"({ "tp": 4, "pp": 4, "vpp": 2 })", 4},
      {"PipelineInside", on("a100-80g-16x8", 2), R"({ "tp": 2, "pp": 2, "zero": 1 })", 2},
  };
}

std::vector<Folding> with_odd_ranks() {
  return {
      {"SlowGpu", on("a100-80g-16x8", 2, kSlow), R"({ "tp": 2, "zero": 1 })", 4},
      {"SlowGpuPipeline", on("p4d-16x8", 2, kSlow), R"({ "tp": 2, "pp": 4 })", 16},
      {"RoundRobinTensor", on("a100-80g-16x8", 2, kRobin), R"({ "tp": 4, "zero": 1 })", 1},
      {"RoundRobinPipeline", on("a100-80g-16x8", 2, kRobin + nics(4)), R"({ "tp": 2, "pp": 4 })", 4},
      {"RoundRobinOnThree", on("a100-80g-16x8", 3, kRobin), R"({ "tp": 2, "zero": 1 })", 1, "megatron", "",
       24, 48},
  };
}

std::vector<Folding> with_uplinks() {
  const std::string all_at_once = std::string(kTree) + kSlow + kRobin + nics(4);
  return {
      {"FatTreeData", on("dgx-a100-80g", 4, kTree + nics(8)), R"({ "zero": 1 })", 1, "megatron", "", 32},
      {"FatTreeUneven", on("dgx-a100-80g", 3, kTree + nics(8)), R"({ "zero": 1 })", 1, "megatron", "", 24,
       48},
      {"FatTreePipeline", on("dgx-a100-80g", 4, kTree + nics(8)), R"({ "tp": 4, "pp": 4 })", 4, "megatron",
       "", 32},
      {"FatTreeTwoPipelines", on("dgx-a100-80g", 3, kTree + nics(8)), R"({ "tp": 4, "pp": 3 })", 6,
       "megatron", "", 24, 16, 12},
      {"PodsData", on("a100-80g-16x8", 4, kPods), R"({ "tp": 8 })", 8, "megatron", "", 32},
      {"PodsPipeline", on("a100-80g-16x8", 4, kPods), R"({ "tp": 2, "pp": 4 })", 8, "megatron", "", 32},
      {"AllAtOnce", on("dgx-a100-80g", 4, all_at_once), R"({ "tp": 2, "pp": 4, "zero": 1 })", 32, "megatron",
       "", 32},
  };
}

std::vector<Folding> without_nvswitch() {
  return {
      {"PcieBoxes", on("rtx-4090-8", 2, kSwitch + nics(2)), R"({ "zero": 1 })", 1},
      {"PcieBoxesPipeline", on("rtx-4090-8", 2, kSwitch + nics(2)), R"({ "tp": 2, "pp": 2 })", 2},
      {"PcieFourGpus", on("v100-pcie-4", 2, kSwitch + nics(2)), R"({ "tp": 2 })", 1, "megatron", "", 8},
      {"CubeMesh", on("v100-dgx-1-16x8", 2), R"({ "tp": 2, "zero": 1 })", 2},
      {"CubeMeshPipeline", on("v100-dgx-1-16x8", 2), R"({ "tp": 2, "pp": 4 })", 8},
  };
}

class Folded : public ::testing::TestWithParam<Folding> {};

TEST_P(Folded, EqualsUnfolded) {
  const scenarios::Scenario scenario = scenario_of(GetParam());
  ASSERT_EQ(scenario.parallel.world(), GetParam().gpus);
  EXPECT_LE(expect_folded_is_unfolded(scenario), GetParam().classes);
}

std::string name_of(const ::testing::TestParamInfo<Folding>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(FewNics, Folded, ::testing::ValuesIn(with_few_nics()), name_of);
INSTANTIATE_TEST_SUITE_P(Pipelines, Folded, ::testing::ValuesIn(with_pipelines()), name_of);
INSTANTIATE_TEST_SUITE_P(OddRanks, Folded, ::testing::ValuesIn(with_odd_ranks()), name_of);
INSTANTIATE_TEST_SUITE_P(Uplinks, Folded, ::testing::ValuesIn(with_uplinks()), name_of);
INSTANTIATE_TEST_SUITE_P(NoNvswitch, Folded, ::testing::ValuesIn(without_nvswitch()), name_of);

}  // namespace
}  // namespace orrery::sim
