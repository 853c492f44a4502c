// How fast the engine is: events (op starts and ends) per second with every rank simulated, host thread and
// sharing on; the folded run of the same; rank classes of 16,384 ranks; a very large number of microbatches.
// A stage has 8 layers of 30 ops forward and 30 backward, two tensor-parallel collectives each way, 1F1B.
#include <benchmark/benchmark.h>

#include "sim/engine/simulation.h"
#include "tests/sim/engine/small_schedule.h"

namespace orrery::sim::test {
namespace {

using schedule::OpKind;
using schedule::Stream;

constexpr int kLayers = 8, kOpsOfLayer = 30;
constexpr std::int64_t kUs = 1'000'000;  // ps

void layer_ops(ProgramBuilder& b, std::uint16_t computed, std::uint16_t reduced, std::int64_t us) {
  for (int i = 0; i < kOpsOfLayer; ++i) {
    const bool reduces = i % (kOpsOfLayer / 2) == kOpsOfLayer / 2 - 1;
    if (reduces) {
      b.message(OpKind::all_reduce, schedule::kTensor, 40 * kUs, Stream::tensor)
          .wait(computed)
          .record(reduced);
      continue;
    }
    b.kernel((us + i % 7) * kUs, i % 3 == 0 ? OpKind::gemm : OpKind::add);
    if (i % (kOpsOfLayer / 2) == 0) b.wait(reduced);
    if (i % (kOpsOfLayer / 2) == kOpsOfLayer / 2 - 2) b.record(computed);
  }
}

void stage_blocks(ProgramBuilder& b, std::int64_t stage, std::int64_t stages) {
  const std::uint32_t token = b.token(8);
  for (const bool backward : {false, true}) {
    b.block(backward ? "backward" : "forward");
    const std::uint32_t base = backward ? 4 : 0;
    const std::uint16_t in = b.formal(token, base), computed = b.formal(token, base + 1),
                        reduced = b.formal(token, base + 2), out = b.formal(token, base + 3);
    const bool has_input = backward ? stage + 1 < stages : stage > 0;
    const bool has_output = backward ? stage > 0 : stage + 1 < stages;
    if (has_input)
      b.recv(backward ? 1 : -1, 30 * kUs, backward ? Stream::pipe_recv_backward : Stream::pipe_recv_forward,
             backward)
          .record(in);
    b.kernel(5 * kUs, OpKind::add);
    if (has_input) b.wait(in);
    for (int l = 0; l < kLayers; ++l) layer_ops(b, computed, reduced, backward ? 60 : 30);
    b.kernel(5 * kUs, OpKind::add).wait(reduced).record(out);
    if (has_output)
      b.send(backward ? -1 : 1, 30 * kUs, backward ? Stream::pipe_send_backward : Stream::pipe_send_forward,
             backward)
          .wait(out);
  }
}

schedule::Schedule training_step(const Grid& grid, std::uint32_t microbatches) {
  schedule::Schedule s = empty_schedule(grid);
  s.microbatches = microbatches;
  for (std::int64_t stage = 0; stage < grid.pp; ++stage) {
    const std::uint32_t warm_up = std::min(microbatches, static_cast<std::uint32_t>(grid.pp - stage - 1));
    ProgramBuilder b(s, std::min(microbatches, static_cast<std::uint32_t>(grid.pp - stage)));
    stage_blocks(b, stage, grid.pp);
    const std::uint32_t token = b.token(2);
    b.block("optimizer");
    const std::uint16_t reduced = b.formal(token, 0), norm = b.formal(token, 1);
    b.kernel(kUs, OpKind::add).record(norm);
    b.message(OpKind::all_reduce, schedule::kData, 4000 * kUs, Stream::data).wait(norm).record(reduced);
    b.message(OpKind::all_reduce, schedule::kWorld, 20 * kUs, Stream::data).record(reduced);
    b.host_wait().wait(reduced);
    b.kernel(900 * kUs, OpKind::adam);
    for (std::uint32_t i = 0; i < warm_up; ++i) b.call(0, i);
    b.repeat(warm_up, 2, microbatches - warm_up);
    b.call(0, warm_up, 1);
    b.call(1, 0, 1);
    for (std::uint32_t i = microbatches - warm_up; i < microbatches; ++i) b.call(1, i);
    b.call(2);
  }
  return s;
}

SimulationResult run(const schedule::Schedule& s, const SimulationOptions& options) {
  const SmallNetwork network({.world = s.world,
                              .gpus_per_node = 8,
                              .gpus_per_nic = 2,
                              .latency = 10 * kUs,
                              .sms = 20,
                              .port_weight = 45000,
                              .nic_weight = 50000});
  return simulate(s, small_cluster(4 * kUs, 132), ShapeCost(), network, options);
}

void BM_EveryRank(benchmark::State& state) {
  const schedule::Schedule s = training_step({.tp = 8, .dp = 8, .pp = 16}, 20);
  std::uint64_t events = 0;
  SimulationResult full;
  for (auto _ : state) {
    full = run(s, {.fold = false, .extrapolate = false});
    events += full.events;
  }
  const SimulationResult folded = run(s, {.extrapolate = false});
  if (folded.step_time != full.step_time) state.SkipWithError("folded and full differ");
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
  state.counters["events"] = static_cast<double>(full.events);
  state.counters["full/folded events"] =
      static_cast<double>(full.events) / static_cast<double>(folded.events);
}
BENCHMARK(BM_EveryRank)->Unit(benchmark::kMillisecond);

void BM_Folded(benchmark::State& state) {
  const schedule::Schedule s = training_step({.tp = 8, .dp = 8, .pp = 16}, 20);
  std::uint64_t events = 0;
  for (auto _ : state) events += run(s, {}).events;
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Folded)->Unit(benchmark::kMillisecond);

void BM_Classes16384(benchmark::State& state) {
  const schedule::Schedule s = training_step({.tp = 8, .dp = 128, .pp = 16}, 16);
  std::size_t classes = 0;
  for (auto _ : state) classes = run(s, {.steps = 1}).classes.size();
  state.counters["classes"] = static_cast<double>(classes);
}
BENCHMARK(BM_Classes16384)->Unit(benchmark::kMillisecond);

void BM_Microbatches32768(benchmark::State& state) {
  const schedule::Schedule s = training_step({.tp = 8, .dp = 2, .pp = 4}, 32768);
  SimulationResult r;
  for (auto _ : state) r = run(s, {});
  state.counters["simulated"] = static_cast<double>(r.microbatches_simulated);
  state.counters["exact"] = r.exact ? 1 : 0;
}
BENCHMARK(BM_Microbatches32768)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery::sim::test
