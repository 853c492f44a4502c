// The whole program, from scenario file to report, on the plans that its speed is promised for: what each stage costs
// and how the sum grows. Times are CPU time of one core. `budget` is the promise, in milliseconds; `of_budget` the
// share of it that was used.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <ctime>
#include <string>

#include "scenarios/scenario.h"
#include "schedule/compile.h"
#include "schedule/memory.h"
#include "schedule/verify.h"
#include "sim/metrics/predict.h"
#include "sim/report/run_report.h"

namespace orrery {
namespace {

const char* const kFiles[] = {"scenarios/13b-tp8-pp4.json", "scenarios/gpt3-175b-1024.json",
                              "scenarios/llama31-405b-16384.json", "scenarios/deepseek-v3-2048.json"};

// `read` gives the scenario, and its time counts.
template <typename Read>
void predictions(benchmark::State& state, double budget_ms, const Read& read) {
  double seconds = 0.0;
  std::uint64_t events = 0;
  for (auto _ : state) {
    const std::clock_t start = std::clock();
    const scenarios::Scenario scenario = read();
    const sim::Prediction p = sim::predict(scenario);
    benchmark::DoNotOptimize(sim::run_report(scenario, p.result));
    seconds += static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    events += p.result.events;
  }
  const double each = 1e3 * seconds / static_cast<double>(state.iterations());
  state.counters["of_budget"] = each / budget_ms;
  state.counters["events"] = static_cast<double>(events) / static_cast<double>(state.iterations());
}

void whole_program(benchmark::State& state, const std::string& file, double budget_ms) {
  predictions(state, budget_ms, [&] { return scenarios::read_scenario(file); });
}

void whole_prediction(benchmark::State& state, const scenarios::Scenario& scenario, double budget_ms) {
  predictions(state, budget_ms, [&] { return scenario; });
}

void BM_Read(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(scenarios::read_scenario(kFiles[state.range(0)]));
}
BENCHMARK(BM_Read)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

void BM_Compile(benchmark::State& state) {
  const scenarios::Scenario s = scenarios::read_scenario(kFiles[state.range(0)]);
  for (auto _ : state) benchmark::DoNotOptimize(schedule::compile(s));
}
BENCHMARK(BM_Compile)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

void BM_Verify(benchmark::State& state) {
  const schedule::Schedule s = schedule::compile(scenarios::read_scenario(kFiles[state.range(0)]));
  for (auto _ : state) benchmark::DoNotOptimize(schedule::verify(s));
}
BENCHMARK(BM_Verify)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

void BM_Memory(benchmark::State& state) {
  const schedule::Schedule s = schedule::compile(scenarios::read_scenario(kFiles[state.range(0)]));
  for (auto _ : state)
    for (const schedule::Program& p : s.programs) benchmark::DoNotOptimize(schedule::memory_peak(p));
}
BENCHMARK(BM_Memory)->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

void BM_Whole70bOn128(benchmark::State& state) { whole_program(state, "scenarios/bench/70b-128.json", 50.0); }
BENCHMARK(BM_Whole70bOn128)->Unit(benchmark::kMillisecond);

void BM_Whole405bOn16384(benchmark::State& state) {
  whole_program(state, "scenarios/llama31-405b-16384.json", 300.0);
}
BENCHMARK(BM_Whole405bOn16384)->Unit(benchmark::kMillisecond);

void BM_WholeAccumulation32768(benchmark::State& state) {
  whole_program(state, "scenarios/bench/accumulation-32768.json", 1000.0);
}
BENCHMARK(BM_WholeAccumulation32768)->Unit(benchmark::kMillisecond);

void BM_WholeDeepSeekOn2048(benchmark::State& state) {
  whole_program(state, "scenarios/deepseek-v3-2048.json", 1000.0);
}
BENCHMARK(BM_WholeDeepSeekOn2048)->Unit(benchmark::kMillisecond);

// Every rank of a stage has rows of its own, and is simulated.
void BM_UnevenDeepSeekOn2048(benchmark::State& state) {
  scenarios::Scenario scenario = scenarios::read_scenario("scenarios/deepseek-v3-2048.json");
  scenario.experts.balance = scenarios::Balance::zipf;
  scenario.experts.zipf_exponent = 0.3;
  whole_prediction(state, scenario, 30'000.0);
}
BENCHMARK(BM_UnevenDeepSeekOn2048)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace orrery

BENCHMARK_MAIN();
