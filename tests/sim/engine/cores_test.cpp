// CPU machines: ranks, copies and transfers share the cores of a machine, and kernels slow each other through
// its memory.
#include <gtest/gtest.h>

#include "tests/sim/engine/fold_check.h"
#include "tests/sim/engine/random_schedule.h"

namespace orrery::sim::test {
namespace {

using schedule::OpKind;
using schedule::Stream;

// SmallNetwork's machines (gpus_per_node ranks each) have cores; each member of a transfer takes a part of
// one.
class CoreNetwork final : public SmallNetwork {
 public:
  CoreNetwork(const MachineShape& shape, std::uint32_t cores, double of_a_core)
      : SmallNetwork(shape),
        shape_(shape),
        cores_(cores),
        taken_(static_cast<std::uint32_t>(of_a_core * kFullLoad)) {}
  TransferPlan collective(OpKind kind, Bytes bytes, std::span<const std::int64_t> members) const override {
    TransferPlan plan = SmallNetwork::collective(kind, bytes, members);
    plan.core_weight = taken_;
    return plan;
  }
  std::uint32_t resource_count() const override {
    return SmallNetwork::resource_count() + static_cast<std::uint32_t>(shape_.world);
  }
  std::optional<Cores> cores_of(std::int64_t rank) const override {
    const auto node = static_cast<std::uint32_t>(rank / shape_.gpus_per_node);
    return Cores{SmallNetwork::resource_count() + node, cores_};
  }
  void loads(const TransferPlan& plan, std::int64_t rank, bool sends, bool receives,
             std::vector<Load>& out) const override {
    SmallNetwork::loads(plan, rank, sends, receives, out);
    if (plan.core_weight > 0) out.push_back({cores_of(rank)->resource, plan.core_weight / cores_});
  }

 private:
  MachineShape shape_;
  std::uint32_t cores_, taken_;
};

class ContendedCost final : public KernelCost {
 public:
  explicit ContendedCost(double contention) : contention_(contention) {}
  KernelTime time(const schedule::Program&, const schedule::Op& op,
                  const schedule::KernelShape& shape) const override {
    const double of_kind = op.kind == OpKind::gemm ? contention_ : 2.0 * contention_;
    return {.time = Duration::from_ps(shape.m), .origin = Origin::exact, .contention = of_kind};
  }

 private:
  double contention_;
};

// One kernel on each rank, of the given length; nobody begins the next step before all have ended this one.
schedule::Schedule kernels(const std::vector<std::int64_t>& ps) {
  schedule::Schedule s = empty_schedule({.pp = static_cast<std::int64_t>(ps.size())});
  for (const std::int64_t length : ps) {
    ProgramBuilder b(s);
    b.block("step");
    b.kernel(length);
    b.message(OpKind::all_reduce, schedule::kPipe, 0, Stream::compute);
    b.call(0);
  }
  return s;
}

struct Machine {
  std::uint32_t cores = 1;
  double contention = 0.0;
  double of_a_core = 0.0;  // a transfer's member
};

// The end of each rank's first op in the first step, all ranks on one machine.
std::vector<double> ends(const schedule::Schedule& s, const Machine& machine) {
  const CoreNetwork network({.world = s.world, .gpus_per_node = s.world}, machine.cores, machine.of_a_core);
  const SimulationResult r = simulate(s, small_cluster(0, 0), ContendedCost(machine.contention), network,
                                      {.steps = 1, .trace = true});
  std::vector<double> found(static_cast<std::size_t>(s.world), 0.0);
  for (const TraceRecord& t : r.trace)
    if (t.op == 0) found[static_cast<std::size_t>(t.rank)] = static_cast<double>(t.end.ps());
  return found;
}

// To a picosecond: speeds are rounded down.
void expect_ends(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1) << "rank " << i;
}

TEST(Cores, TwoRanksOnOneCoreTakeTwiceAsLong) {
  expect_ends(ends(kernels({1000}), {.cores = 1}), {1000});
  expect_ends(ends(kernels({1000, 1000}), {.cores = 1}), {2000, 2000});
  expect_ends(ends(kernels({1000, 1000}), {.cores = 2}), {1000, 1000});
  expect_ends(ends(kernels({1000, 400}), {.cores = 1}), {1400, 800});
}

TEST(Cores, ThreeRanksShareTwoCores) {
  expect_ends(ends(kernels({1000, 1000, 1000}), {.cores = 2}), {1500, 1500, 1500});
}

// Rank 1 ends after 600 ps at 1 / 1.5; by then 400 ps of rank 0's kernel are done, and the rest runs at full
// speed.
TEST(Cores, KernelsSlowEachOtherThroughMemory) {
  expect_ends(ends(kernels({1000, 1000}), {.cores = 2, .contention = 0.5}), {1500, 1500});
  expect_ends(ends(kernels({1000, 400}), {.cores = 2, .contention = 0.5}), {1200, 600});
}

TEST(Cores, ContentionGrowsWithTheKernelsThatRun) {
  expect_ends(ends(kernels({1000, 1000, 1000}), {.cores = 4, .contention = 0.1}), {1200, 1200, 1200});
  expect_ends(ends(kernels({1000, 1000, 1000, 1000}), {.cores = 4, .contention = 0.1}),
              {1300, 1300, 1300, 1300});
  // Only two at a time run on two cores.
  expect_ends(ends(kernels({1000, 1000, 1000, 1000}), {.cores = 2, .contention = 0.1}),
              {2200, 2200, 2200, 2200});
}

// Two kernels and the two halves of a transfer need three of two cores: all run at 2 / 3 until it ends.
TEST(Cores, ATransferSlowsTheKernelsBesideIt) {
  schedule::Schedule s = empty_schedule({.dp = 2});
  ProgramBuilder b(s);
  const std::uint32_t token = b.token();
  b.block("step");
  const std::uint16_t computed = b.formal(token);
  b.message(OpKind::all_reduce, schedule::kData, 100, Stream::data).wait(computed);  // of the step before
  b.kernel(1000).record(computed);
  b.call(0);
  const MachineShape shape{.world = 2, .gpus_per_node = 2};
  for (const double of_a_core : {0.0, 0.5}) {
    const SimulationResult r = simulate(s, small_cluster(0, 0), ContendedCost(0.0),
                                        CoreNetwork(shape, 2, of_a_core), {.steps = 1, .trace = true});
    const double transfer = of_a_core == 0.0 ? 100 : 150, kernel = of_a_core == 0.0 ? 1000 : 1050;
    for (const TraceRecord& t : r.trace)
      EXPECT_NEAR(static_cast<double>(t.end.ps()), t.op == 0 ? transfer : kernel, 1) << t.op;
  }
}

// Its measured time is that of all its members on these cores.
TEST(Cores, ATransferAloneTakesItsOwnTime) {
  schedule::Schedule s = empty_schedule({.dp = 4});
  ProgramBuilder b(s);
  b.block("step");
  b.message(OpKind::all_reduce, schedule::kData, 100, Stream::data);
  b.call(0);
  EXPECT_EQ(ends(s, {.cores = 2, .of_a_core = 1.0})[0], 100);
}

// A kernel and a copy of one rank are two threads, unlike two kernels of one GPU.
TEST(Cores, StreamsOfOneRankTakeACoreEach) {
  schedule::Schedule s = empty_schedule({});
  ProgramBuilder b(s);
  b.block("step");
  b.kernel(100).copy(100);
  b.kernel(100).on(Stream::data);
  b.call(0);
  for (const std::uint32_t cores : {1U, 3U}) {
    const SimulationResult r =
        simulate(s, small_cluster(0, 0), ContendedCost(0.0),
                 CoreNetwork({.world = 1, .gpus_per_node = 1}, cores, 0.0), {.steps = 1});
    EXPECT_NEAR(static_cast<double>(r.step_time.ps()), cores == 1 ? 300 : 100, 1);
  }
}

TEST(Cores, NothingIsSharedWhereSharingIsOff) {
  const schedule::Schedule s = kernels({1000, 1000});
  const SimulationResult r =
      simulate(s, small_cluster(0, 0), ContendedCost(0.5),
               CoreNetwork({.world = 2, .gpus_per_node = 2}, 1, 0.0), {.steps = 1, .share = false});
  EXPECT_EQ(r.step_time.ps(), 1000);
}

// Folded equals unfolded with cores shared: machines that hold several ranks of a class, classes that share a
// machine, machines that differ, a slow rank.
TEST(Cores, FoldIsExact) {
  constexpr Grid kGrids[] = {{2, 2, 1}, {1, 4, 2}, {2, 4, 1}, {1, 2, 4}, {2, 2, 2}, {4, 1, 2}, {1, 6, 1}};
  std::size_t folded = 0, unfolded = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    const Grid grid = kGrids[seed % 7];
    const MachineShape shape{.world = grid.world(),
                             .gpus_per_node = std::int64_t{1} << (seed / 7 % 4),
                             .gpus_per_nic = 2,
                             .latency = 7,
                             .nic_weight = seed % 2 == 0 ? 40000U : 0U};
    hardware::Cluster cluster = small_cluster(0, 0);
    if (seed % 3 == 0) cluster.slow_gpus = {{static_cast<std::int64_t>(seed) % grid.world(), 0.8}};
    const schedule::Schedule s =
        random_schedule({.grid = grid, .ops = 10, .kernels_everywhere = true, .rings = true}, seed);
    const CoreNetwork network(shape, 1 + static_cast<std::uint32_t>(seed % 4),
                              0.1 * static_cast<double>(seed % 11));
    folded += expect_fold_is_exact(s, cluster, ContendedCost(0.15 * static_cast<double>(seed % 5)), network);
    unfolded += static_cast<std::size_t>(grid.world());
    if (HasFailure()) return;
  }
  EXPECT_LT(folded, unfolded * 3 / 4);  // the test folds something
}

// Data-parallel ranks on machines of two, one class, and a last machine with one rank: its rank is alone
// there.
TEST(Cores, ARankAloneOnItsMachineIsOfAnotherClass) {
  schedule::Schedule s = empty_schedule({.dp = 5});
  ProgramBuilder b(s);
  b.block("step");
  b.kernel(1000);
  b.call(0);
  const CoreNetwork network({.world = 5, .gpus_per_node = 2}, 1, 0.0);
  EXPECT_EQ(expect_fold_is_exact(s, small_cluster(0, 0), ContendedCost(0.0), network), 2U);
}

}  // namespace
}  // namespace orrery::sim::test
