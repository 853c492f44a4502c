// The engine against a slow simulator that shares nothing with it but the sharing solver, on random small
// schedules: every op of the last step has the same start and end.
#include <gtest/gtest.h>

#include <map>

#include "sim/engine/simulation.h"
#include "tests/sim/engine/naive_simulator.h"
#include "tests/sim/engine/random_schedule.h"

namespace orrery::sim::test {
namespace {

struct Machine {
  MachineShape network;
  hardware::Cluster cluster;
};

void expect_equal_times(const schedule::Schedule& s, const Machine& machine, bool share) {
  const SmallNetwork network(machine.network);
  const ShapeCost cost;
  constexpr int kSteps = 2;
  const std::vector<NaiveOp> naive = naive_simulate(s, machine.cluster, cost, network, kSteps, share);
  std::map<std::pair<std::int64_t, std::uint32_t>, NaiveOp> expected;
  std::int64_t first_end = 0, last_end = 0;
  for (const NaiveOp& op : naive) {
    if (op.step == kSteps - 1) expected[{op.rank, op.host}] = op;
    if (op.step == kSteps - 2) first_end = std::max(first_end, op.end);
    if (op.step == kSteps - 1) last_end = std::max(last_end, op.end);
  }
  const SimulationResult r =
      simulate(s, machine.cluster, cost, network,
               {.fold = false, .extrapolate = false, .steps = kSteps, .trace = true, .share = share});
  ASSERT_FALSE(r.deadlocked);
  ASSERT_EQ(r.trace.size(), expected.size());  // each op once
  EXPECT_EQ(r.step_time.ps(), last_end - first_end);
  for (const TraceRecord& t : r.trace) {
    const NaiveOp& op = expected.at({t.rank, t.op});
    const bool is_host_wait = s.program_of(t.rank).ops[t.op_in_program].kind == schedule::OpKind::host_wait;
    ASSERT_EQ(t.end.ps(), op.end) << "rank " << t.rank << " op " << t.op;
    if (!is_host_wait) {
      ASSERT_EQ(t.start.ps(), op.start) << "rank " << t.rank << " op " << t.op;
    }
    ASSERT_LE(t.ready, t.start);
  }
}

const Grid kGrids[] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 2}, {2, 1, 2}, {2, 2, 2}, {3, 1, 2}};

TEST(AgainstNaive, StreamsEventsHostAndRendezvous) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    const Grid grid = kGrids[seed % 6];
    const schedule::Schedule s = random_schedule({.grid = grid, .rings = seed % 2 == 0}, seed);
    expect_equal_times(
        s, {{.world = grid.world(), .gpus_per_node = 2, .latency = 3}, small_cluster(seed % 3 == 0 ? 0 : 40)},
        false);
    if (HasFatalFailure()) return;
  }
}

TEST(AgainstNaive, SharedLinksAndSms) {
  for (std::uint64_t seed = 0; seed < 240; ++seed) {
    SCOPED_TRACE(seed);
    const Grid grid = kGrids[seed % 6];
    const schedule::Schedule s = random_schedule(
        {.grid = grid, .kernels_everywhere = seed % 3 == 0, .rings = seed % 2 == 0}, 1000 + seed);
    Machine machine{{.world = grid.world(),
                     .gpus_per_node = 2,
                     .gpus_per_nic = 1 + static_cast<std::int64_t>(seed % 2),
                     .latency = 5,
                     .sms = 20,
                     .port_weight = 30000 + static_cast<std::uint32_t>(seed % 3) * 17000,
                     .nic_weight = 45000},
                    small_cluster(seed % 4 == 0 ? 60 : 0)};
    if (seed % 5 == 0) machine.cluster.slow_gpus = {{grid.world() - 1, 0.7}};
    expect_equal_times(s, machine, true);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace orrery::sim::test
