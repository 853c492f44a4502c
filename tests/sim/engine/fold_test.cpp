// Ranks of a kind are simulated once: folded equals unfolded to the picosecond, with shared NICs, slow GPUs
// and rings.
#include <gtest/gtest.h>

#include "tests/sim/engine/fold_check.h"
#include "tests/sim/engine/random_schedule.h"

namespace orrery::sim::test {
namespace {

std::size_t expect_fold_is_exact(const schedule::Schedule& s, const MachineShape& shape,
                                 const hardware::Cluster& cluster) {
  return expect_fold_is_exact(s, cluster, ShapeCost(), SmallNetwork(shape));
}

const Grid kGrids[] = {{2, 2, 2}, {4, 2, 1}, {2, 4, 2}, {1, 4, 3}, {4, 1, 2}, {1, 8, 1}, {2, 3, 2}};

TEST(Fold, RandomConfigurations) {
  std::size_t folded = 0, unfolded = 0;
  for (std::uint64_t seed = 0; seed < 420; ++seed) {
    SCOPED_TRACE(seed);
    const Grid grid = kGrids[seed % 7];
    const std::int64_t gpus_per_node = std::int64_t{2} << (seed / 7 % 3);
    const MachineShape shape{.world = grid.world(),
                             .gpus_per_node = gpus_per_node,
                             .gpus_per_nic = std::int64_t{1} << (seed / 21 % 3),
                             .latency = 7,
                             .sms = 15,
                             .port_weight = 20000 + 15000 * static_cast<std::uint32_t>(seed % 4),
                             .nic_weight = 65536 / (1U + static_cast<std::uint32_t>(seed % 3))};
    hardware::Cluster cluster = small_cluster(seed % 5 == 0 ? 30 : 0);
    if (seed % 3 == 0) cluster.slow_gpus = {{static_cast<std::int64_t>(seed) % grid.world(), 0.8}};
    const schedule::Schedule s =
        random_schedule({.grid = grid, .ops = 10, .kernels_everywhere = true, .rings = true}, seed);
    folded += expect_fold_is_exact(s, shape, cluster);
    unfolded += static_cast<std::size_t>(grid.world());
    if (HasFailure()) return;
  }
  EXPECT_LT(folded, unfolded * 3 / 4);  // the test folds something
}

// Tensor groups of two in nodes of four behind two NICs: all ranks of a stage are alike.
TEST(Fold, SymmetricClusterFoldsToOneClassAStage) {
  const Grid grid{.tp = 2, .dp = 4, .pp = 2};
  const schedule::Schedule s = random_schedule({.grid = grid, .ops = 20}, 5);
  const MachineShape shape{.world = 16,
                           .gpus_per_node = 4,
                           .gpus_per_nic = 2,
                           .latency = 1,
                           .sms = 10,
                           .port_weight = 60000,
                           .nic_weight = 50000};
  EXPECT_EQ(expect_fold_is_exact(s, shape, small_cluster()), 2U);
}

// One slow GPU among sixteen sets itself and those that meet it apart.
TEST(Fold, SlowGpuUnfolds) {
  const Grid grid{.tp = 2, .dp = 4, .pp = 2};
  schedule::Schedule s = empty_schedule(grid);
  for (int p = 0; p < 2; ++p) {
    ProgramBuilder b(s);
    b.block("step");
    b.kernel(1000).message(schedule::OpKind::all_reduce, schedule::kTensor, 100, schedule::Stream::compute);
    b.call(0);
  }
  hardware::Cluster cluster = small_cluster();
  EXPECT_EQ(expect_fold_is_exact(s, {.world = 16, .gpus_per_node = 4}, cluster), 2U);
  cluster.slow_gpus = {{5, 0.5}};
  EXPECT_EQ(expect_fold_is_exact(s, {.world = 16, .gpus_per_node = 4}, cluster),
            4U);  // 5, its peer 4, both stages
}

// Slow GPUs are found in whatever order they are listed.
TEST(Fold, SlowGpusInAnyOrder) {
  schedule::Schedule s = empty_schedule({.dp = 4});
  ProgramBuilder b(s);
  b.block("step");
  b.kernel(1000);
  b.call(0);
  hardware::Cluster cluster = small_cluster();
  cluster.slow_gpus = {{3, 0.25}, {0, 0.5}, {2, 0.125}};
  const SimulationResult r = simulate(s, cluster, ShapeCost(), SmallNetwork({.world = 4}), {.fold = false});
  ASSERT_EQ(r.classes.size(), 4U);
  const std::int64_t expected[] = {2000, 1000, 8000, 4000};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(r.classes[i].compute_alone.ps(), expected[i]) << i;
}

// A NIC of two ranks whose transfers belong to two groups is shared by them; of one group it is not.
TEST(Fold, NicSharedByRanksOfOneClassCountsTwice) {
  for (const bool one_group : {false, true}) {
    schedule::Schedule s = empty_schedule({.dp = 4});
    // Ranks 0, 1 | 2, 3 are nodes of one NIC each; groups {0, 2}, {1, 3}, or all four.
    s.groups.push_back({.name = "across", .stride = 2, .size = 2, .period = 2, .step = 1});
    ProgramBuilder b(s);
    b.block("step");
    b.message(schedule::OpKind::all_reduce,
              one_group ? static_cast<std::uint8_t>(schedule::kData) : std::uint8_t{5}, 1000,
              schedule::Stream::data);
    b.call(0);
    const MachineShape shape{.world = 4, .gpus_per_node = 2, .gpus_per_nic = 2, .nic_weight = kFullLoad};
    EXPECT_EQ(expect_fold_is_exact(s, shape, small_cluster()), 1U);
    const SimulationResult r = simulate(s, small_cluster(), ShapeCost(), SmallNetwork(shape), {});
    EXPECT_EQ(r.step_time.ps(), one_group ? 3000 : 6000);
  }
}

}  // namespace
}  // namespace orrery::sim::test
