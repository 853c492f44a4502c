// What the executor adds to its kernels: the time of a step in which no kernel runs, an op and as a share of the step. One rank
// (nothing to wait for), a GPT of hidden 256 as in scenarios/cpu.
#include <benchmark/benchmark.h>

#include "runtime/run/thread_run.h"
#include "schedule/compile.h"
#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/tiny_models.h"

namespace orrery::runtime {
namespace {

scenarios::Scenario scenario_of(std::int64_t hidden) {
  models::Architecture a = interpreter::tiny_gpt();
  a.layers = 4;
  a.hidden = hidden;
  a.heads = a.kv_heads = 4;
  a.head_dim = hidden / 4;
  a.ffn_hidden = 4 * hidden;
  a.vocab = 256;
  a.max_positions = 128;
  scenarios::Scenario s = interpreter::plain_scenario(a);
  s.training.precision = hardware::Precision::fp32;
  s.training.global_batch = 8;
  s.training.micro_batch = 2;
  s.training.sequence_length = 128;
  interpreter::resolve(s);
  return s;
}

void executor_overhead(benchmark::State& state) {
  const schedule::Schedule schedule = schedule::compile(scenario_of(state.range(0)));
  const auto tokens = pattern_tokens(schedule.model.vocab, 1);
  RunOptions options;
  options.steps = 12;
  options.discard = 2;
  const RunJob job{&schedule, tokens.get(), schedule::fingerprint(schedule), options, "bench"};
  double least_us = 1e9, least_share = 1.0;
  for (auto _ : state) {
    StopSign stop;
    const RunResult r = run_as_threads(job, stop, {}, [](int) { return RankHooks{}; }, [](const std::string&, const RunResult&) {});
    const auto& records = r.trace.ranks.front().records;
    double kernels = 0.0;
    for (const schedule::TraceRecord& op : records) kernels += static_cast<double>(op.end_ns - op.begin_ns);
    const auto whole = static_cast<double>(records.back().end_ns - records.front().begin_ns);
    least_us = std::min(least_us, (whole - kernels) / static_cast<double>(records.size()) * 1e-3);
    least_share = std::min(least_share, (whole - kernels) / whole);
  }
  state.counters["us_per_op"] = least_us;
  state.counters["share_of_step"] = least_share;
}
BENCHMARK(executor_overhead)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace orrery::runtime

BENCHMARK_MAIN();
