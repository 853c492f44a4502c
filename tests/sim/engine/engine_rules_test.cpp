// One rule of the engine at a time: system, expectation, numbers.
#include <gtest/gtest.h>

#include "sim/engine/simulation.h"
#include "tests/sim/engine/random_schedule.h"

namespace orrery::sim::test {
namespace {

using schedule::OpKind;
using schedule::Stream;

SimulationResult run(const schedule::Schedule& s, const hardware::Cluster& cluster = small_cluster(),
                     MachineShape shape = {}, SimulationOptions options = {.trace = true}) {
  shape.world = s.world;
  return simulate(s, cluster, ShapeCost(), SmallNetwork(shape), options);
}

const TraceRecord& record_of(const SimulationResult& r, std::int64_t rank, std::uint32_t op) {
  for (const TraceRecord& t : r.trace)
    if (t.rank == rank && t.op == op) return t;
  ADD_FAILURE() << "no record of rank " << rank << " op " << op;
  return r.trace.front();
}
std::int64_t share(const ClassResult& c, Share s) { return c.waterfall[static_cast<std::size_t>(s)].ps(); }

TEST(Rules, StreamsOverlapAndEventsOrderThem) {
  schedule::Schedule s = empty_schedule({});
  ProgramBuilder b(s);
  const std::uint32_t token = b.token(2);
  b.block("step");
  const std::uint16_t copied = b.formal(token, 0), computed = b.formal(token, 1);
  b.kernel(100).record(computed);
  b.copy(250).record(copied);
  b.kernel(10);               // beside the copy
  b.kernel(40).wait(copied);  // behind it
  b.call(0);
  const SimulationResult r = run(s, small_cluster(), {}, {.steps = 1, .trace = true});
  EXPECT_EQ(r.step_time.ps(), 290);
  EXPECT_EQ((record_of(r, 0, 3).start - record_of(r, 0, 1).end).ps(), 0);
  EXPECT_EQ((record_of(r, 0, 2).end - record_of(r, 0, 0).start).ps(), 110);
  const ClassResult& c = r.classes[0];
  EXPECT_EQ(share(c, Share::compute), 150);
  EXPECT_EQ(share(c, Share::copy), 140);
}

// The wait of a step on an event that is recorded later in the list refers to the step before.
TEST(Rules, EventsCarryOverToTheNextStep) {
  schedule::Schedule s = empty_schedule({});
  ProgramBuilder b(s);
  const std::uint32_t token = b.token();
  b.block("step");
  const std::uint16_t saved = b.formal(token);
  b.kernel(100).wait(saved);
  b.copy(300).record(saved);
  b.call(0);
  // Copy n runs beside kernel n; kernel n + 1 waits for copy n.
  const SimulationResult r = run(s);
  EXPECT_EQ(r.step_time.ps(), 300);
  EXPECT_EQ(share(r.classes[0], Share::compute), 100);
}

TEST(Rules, TransferBeginsWhenTheLastSideIsReady) {
  for (const std::int64_t late : {999, 1000, 1001}) {
    schedule::Schedule s = empty_schedule({.pp = 2});
    for (int stage = 0; stage < 2; ++stage) {
      ProgramBuilder b(s);
      b.block("step");
      b.kernel(stage == 0 ? 1000 : late);
      if (stage == 0)
        b.send(1, 50, Stream::compute);
      else
        b.recv(-1, 50, Stream::compute);
      b.call(0);
    }
    const SimulationResult r = run(s, small_cluster(), {}, {.steps = 1, .trace = true});
    const std::int64_t begin = std::max<std::int64_t>(1000, late);
    EXPECT_EQ(r.step_time.ps(), begin + 50);
    EXPECT_EQ(record_of(r, 0, 1).ready.ps(), 1000);
    EXPECT_EQ(record_of(r, 1, 1).ready.ps(), late);
    for (const std::int64_t rank : {0, 1}) EXPECT_EQ(record_of(r, rank, 1).start.ps(), begin);
    EXPECT_EQ(share(r.classes[0], Share::bubble), begin - 1000);
    EXPECT_EQ(share(r.classes[0], Share::exposed_pipe), 50);
  }
}

TEST(Rules, GroupedMessagesStartTogetherAndOthersDeadlock) {
  for (const bool grouped : {true, false}) {
    schedule::Schedule s = empty_schedule({.pp = 2});
    for (int stage = 0; stage < 2; ++stage) {
      ProgramBuilder b(s);
      b.block("exchange");
      const int peer = stage == 0 ? 1 : -1;
      b.send(peer, 100, Stream::compute, stage);
      if (grouped) b.grouped();
      b.recv(peer, 300, Stream::compute, 1 - stage);
      s.programs.back().views.back().columns = 100;
      b.call(0);
    }
    const SimulationResult r = run(s);
    EXPECT_EQ(r.deadlocked, !grouped);
    if (grouped) {
      EXPECT_EQ(r.step_time.ps(), 100);
      continue;
    }
    ASSERT_EQ(r.deadlock.size(), 2U);
    EXPECT_EQ(r.deadlock[0],
              "rank 0: send on compute (block exchange, microbatch 0, step 0) waits for rank 1 to recv");
    EXPECT_EQ(r.deadlock[1],
              "rank 1: send on compute (block exchange, microbatch 0, step 0) waits for rank 0 to recv");
  }
}

// Between the same two ranks, forward and backward messages never take each other's place.
TEST(Rules, MessagesMatchByTag) {
  schedule::Schedule s = empty_schedule({.pp = 2});
  for (int stage = 0; stage < 2; ++stage) {
    ProgramBuilder b(s);
    b.block("step");
    if (stage == 0) {
      b.send(1, 10, Stream::pipe_send_forward, 0).send(1, 500, Stream::pipe_send_backward, 1);
    } else {
      b.recv(1, 500, Stream::pipe_recv_backward, 1).recv(1, 10, Stream::pipe_recv_forward, 0);
    }
    b.call(0);
  }
  const SimulationResult r = run(s);
  ASSERT_FALSE(r.deadlocked);
  EXPECT_EQ((record_of(r, 0, 0).end - record_of(r, 0, 0).start).ps(), 10);
  EXPECT_EQ((record_of(r, 1, 0).end - record_of(r, 1, 0).start).ps(), 500);
}

TEST(Rules, DeadlockNamesEveryWaitingOp) {
  schedule::Schedule s = empty_schedule({.tp = 3, .pp = 2});
  for (int stage = 0; stage < 2; ++stage) {
    ProgramBuilder b(s);
    const std::uint32_t token = b.token();
    b.block("norm");
    const std::uint16_t done = b.formal(token);
    if (stage == 0)
      b.message(OpKind::all_reduce, schedule::kWorld, 8, Stream::data).record(done);
    else
      b.recv(-1, 8, Stream::data).record(done);
    b.host_wait().wait(done);
    b.kernel(5).wait(done);
    b.kernel(7).on(Stream::tensor);
    b.call(0, 3);
  }
  const SimulationResult r = run(s);
  ASSERT_TRUE(r.deadlocked);
  const std::vector<std::string> expected = {
      "rank 0 (and 2 ranks like it): gemm on compute (block norm, microbatch 3, step 0) waits for all_reduce "
      "on data",
      "rank 0 (and 2 ranks like it): gemm on tensor (block norm, microbatch 3, step 0) is not issued: the "
      "host is in "
      "a host_wait before it",
      "rank 0 (and 2 ranks like it): all_reduce on data (block norm, microbatch 3, step 0) waits for ranks "
      "3, 4, 5 of "
      "group world",
      "rank 0 (and 2 ranks like it): host_wait on host (block norm, microbatch 3, step 0) waits for "
      "all_reduce on data",
      "rank 3 (and 2 ranks like it): gemm on compute (block norm, microbatch 3, step 0) waits for recv on "
      "data",
      "rank 3 (and 2 ranks like it): gemm on tensor (block norm, microbatch 3, step 0) is not issued: the "
      "host is in "
      "a host_wait before it",
      "rank 3 (and 2 ranks like it): recv on data (block norm, microbatch 3, step 0) waits for rank 0 to "
      "send",
      "rank 3 (and 2 ranks like it): host_wait on host (block norm, microbatch 3, step 0) waits for recv on "
      "data"};
  EXPECT_EQ(r.deadlock, expected);
}

// Ten kernels of 100: issued at 50 each the device is the bottleneck, at 500 each the host is.
TEST(Rules, SlowHostMakesAStepLaunchBound) {
  schedule::Schedule s = empty_schedule({});
  ProgramBuilder b(s);
  b.block("step");
  for (int i = 0; i < 10; ++i) b.kernel(100);
  b.call(0);
  const SimulationResult fast = run(s, small_cluster(50)), slow = run(s, small_cluster(500));
  EXPECT_EQ(fast.step_time.ps(), 1000);
  EXPECT_EQ(share(fast.classes[0], Share::host), 0);
  EXPECT_EQ(slow.step_time.ps(), 5000);
  EXPECT_EQ(share(slow.classes[0], Share::host), 4000);
  EXPECT_EQ(share(slow.classes[0], Share::compute), 1000);
}

// The host blocks until the kernel has ended; only then it issues the next, which starts one issue later.
TEST(Rules, HostWaitStopsIssuing) {
  schedule::Schedule s = empty_schedule({});
  ProgramBuilder b(s);
  const std::uint32_t token = b.token();
  b.block("step");
  const std::uint16_t norm = b.formal(token);
  b.kernel(1000).record(norm);
  b.host_wait().wait(norm);
  b.kernel(300);
  b.call(0);
  const SimulationResult r = run(s, small_cluster(20), {}, {.steps = 1, .trace = true});
  EXPECT_EQ(record_of(r, 0, 0).start.ps(), 20);
  EXPECT_EQ(record_of(r, 0, 1).end.ps(), 1020);
  EXPECT_EQ(record_of(r, 0, 2).start.ps(), 1040);
  EXPECT_EQ(share(r.classes[0], Share::host), 40);
}

// A kernel of 1000 beside a transfer of 400 that takes a quarter of the SMs: 300 done at 400, 700 left.
TEST(Rules, CommunicationTakesSmsFromBoundKernels) {
  for (const OpKind kind : {OpKind::gemm, OpKind::add}) {
    schedule::Schedule s = empty_schedule({.dp = 2});
    ProgramBuilder b(s);
    const std::uint32_t token = b.token();
    b.block("step");
    const std::uint16_t done = b.formal(token);
    b.message(OpKind::all_reduce, schedule::kData, 400, Stream::data).wait(done);  // of the step before
    b.kernel(1000, kind).record(done);
    b.call(0);
    const SimulationResult r = run(s, small_cluster(0, 100), {.sms = 25}, {.steps = 1});
    EXPECT_EQ(r.step_time.ps(), kind == OpKind::gemm ? 1100 : 1000);
    EXPECT_EQ(r.classes[0].communication_any.ps(), 400);
    EXPECT_EQ(r.classes[0].compute_alone.ps(), 1000);
    EXPECT_EQ(share(r.classes[0], Share::exposed_data), 0);
  }
}

// Two transfers of 300 and 500 through one port, each needing all of it: half speed for 600, then the rest
// alone.
TEST(Rules, TransfersShareAPort) {
  schedule::Schedule s = empty_schedule({.tp = 2});
  ProgramBuilder b(s);
  const std::uint32_t token = b.token();
  b.block("step");
  const std::uint16_t done = b.formal(token);
  b.message(OpKind::all_reduce, schedule::kTensor, 300, Stream::tensor).wait(done);  // of the step before
  b.message(OpKind::all_reduce, schedule::kWorld, 500, Stream::data).record(done);
  b.call(0);
  const SimulationResult r = run(s, small_cluster(), {.port_weight = kFullLoad}, {.steps = 1, .trace = true});
  EXPECT_EQ(record_of(r, 0, 0).end.ps(), 600);
  EXPECT_EQ(record_of(r, 0, 1).end.ps(), 800);
  const SimulationResult apart =
      run(s, small_cluster(), {.port_weight = kFullLoad}, {.steps = 1, .trace = true, .share = false});
  EXPECT_EQ(record_of(apart, 0, 0).end.ps(), 300);
  EXPECT_EQ(record_of(apart, 0, 1).end.ps(), 500);
}

TEST(Rules, SlowGpuStretchesKernelsUp) {
  schedule::Schedule s = empty_schedule({});
  ProgramBuilder b(s);
  b.block("step");
  b.kernel(1000);
  b.copy(10);
  b.call(0);
  hardware::Cluster cluster = small_cluster();
  cluster.slow_gpus = {{0, 0.3}};
  EXPECT_EQ(run(s, cluster).step_time.ps(), 3334);
}

// Ranks that end early go on into the next step, so a step is as long as in the middle of a long run.
TEST(Rules, StepTimeIsThePeriod) {
  for (const int steps : {2, 3, 5}) {
    const schedule::Schedule s = random_schedule({.grid = {2, 2, 2}, .ops = 20}, 11);
    const SimulationResult a = run(s, small_cluster(), {}, {.steps = steps});
    const SimulationResult b = run(s, small_cluster(), {}, {.steps = steps + 1});
    EXPECT_EQ(a.step_time, b.step_time);
    EXPECT_EQ(a.classes[0].waterfall, b.classes[0].waterfall);
  }
}

TEST(Rules, EmptyScheduleTakesNoTime) {
  schedule::Schedule s = empty_schedule({});
  ProgramBuilder b(s);
  const SimulationResult r = run(s);
  EXPECT_FALSE(r.deadlocked);
  EXPECT_EQ(r.step_time.ps(), 0);
  EXPECT_EQ(r.events, 0U);
}

// The same schedule gives the same stream of events, in every build and on every machine.
TEST(Rules, FingerprintIsPinned) {
  const schedule::Schedule s = random_schedule({.grid = {2, 2, 2}, .ops = 14, .rings = true}, 3);
  const MachineShape shape{.gpus_per_node = 4,
                           .gpus_per_nic = 2,
                           .latency = 9,
                           .sms = 12,
                           .port_weight = 50000,
                           .nic_weight = 40000};
  const SimulationResult r = run(s, small_cluster(15), shape);
  EXPECT_EQ(r.fingerprint, run(s, small_cluster(15), shape).fingerprint);
  EXPECT_NE(r.fingerprint, run(s, small_cluster(16), shape).fingerprint);
  EXPECT_EQ(r.fingerprint, 5682331544791085125ULL);
  EXPECT_EQ(r.events, 479U);
}

}  // namespace
}  // namespace orrery::sim::test
