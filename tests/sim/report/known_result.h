// A scenario and a result with round numbers, so that transcripts do not move when models are calibrated.
#pragma once

#include "sim/metrics/result.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim::testing {

inline scenarios::Scenario known_scenario() {
  return written(R"({ "name": "A known run",
  "model": "models/zoo/gpt3-13b.json",
  "cluster": { "base": "hardware/clusters/a100-80g-16x8.json", "nodes": 4 },
  "framework": "megatron",
  "parallel": { "tp": 4, "sp": true, "pp": 2, "zero": 1 },
  "training": { "global_batch": 64, "micro_batch": 1, "sequence_length": 2048, "recompute": "full", "tokens": 300e9 },
  "measured": { "step_time": "2.5 s", "peak_memory": "60 GB", "comm_fraction": 0.2, "source": "an invented measurement" } })");
}

inline StageResult known_stage(int index) {
  StageResult stage;
  stage.name = index == 0 ? "stage0" : "stage1";
  stage.representative = 16 * index;
  stage.ranks = 16;
  schedule::MemoryPeak& m = stage.memory;
  m.peak = Bytes(50'000'000'000 - index * 1'000'000'000);
  m.phase = schedule::Phase::backward;
  m.block = "layer.backward";
  m.by_kind = {Bytes(10'000'000'000),
               Bytes(20'000'000'000),
               Bytes(5'000'000'000),
               Bytes(12'000'000'000 - index * 1'000'000'000),
               Bytes(2'000'000'000),
               Bytes(1'000'000'000),
               Bytes()};
  m.peak_of_phase = {Bytes(35'000'000'000), Bytes(48'000'000'000), Bytes(40'000'000'000), m.peak,
                     Bytes(), Bytes(36'000'000'000)};
  m.items = {{"layer.gradients", schedule::BufferKind::gradient, Bytes(19'000'000'000)},
             {"layer.weights", schedule::BufferKind::weight, Bytes(9'500'000'000)}};
  stage.fixed = {{"context", Bytes(600'000'000), "the driver's context"},
                 {"communicators", Bytes(1'400'000'000), "4 communicators"}};
  stage.total = m.peak + Bytes(2'000'000'000);
  stage.waterfall_s = {1.5, 0.25, 0.05, 0.05, 0.0, 0.0, 0.0, 0.0, 0.05, 0.1, 0.0};
  return stage;
}

inline Result known_result() {
  Result r;
  r.scenario = "A known run";
  r.step_time_s = {2.0, 1.8, 2.4};
  r.stages = {known_stage(0), known_stage(1)};
  r.peak_memory_bytes = {52e9, 51.6e9, 54.5e9};
  r.samples_per_s = 32.0;
  r.tokens_per_s = 65536.0;
  r.tokens_per_s_per_gpu = 2048.0;
  r.tokens_per_step = 131072.0;
  r.dense_peak = 312e12;
  r.model_flops = 1e16;
  r.hardware_flops = 1.3e16;
  r.model_tflops_per_gpu = 156.25;
  r.hardware_tflops_per_gpu = 203.125;
  r.mfu = 156.25 / 312.0;
  r.hfu = 203.125 / 312.0;
  r.communication_total = 0.25;
  r.communication_exposed = 0.175;
  r.communication_by_group = {0.15, 0.06, 0.05, 0.0};
  r.exposed_by_group = {0.125, 0.025, 0.025, 0.0};
  r.bubble_fraction = 0.05;
  r.gpu_busy = 0.75;
  r.compute_slowed = 0.02;
  r.microbatches_simulated = 4;
  r.waterfall_s = r.stages.front().waterfall_s;
  r.capacity = Bytes(84'987'740'160);
  r.host_capacity = Bytes(2'199'023'255'552);
  r.modelled_fraction = 1.0;
  r.parts = {{"matrix products", Origin::modelled, 0.8, -0.1, 0.2, "100 measurements"},
             {"one run against another", Origin::measured, 1.0, -0.05, 0.05, "published twice"}};
  Place place;
  place.source = std::make_shared<const SourceFile>(SourceFile{"test.json", ""});
  place.line = 5;
  place.column = 25;
  r.warnings = {
      {Severity::warning, place,
       "an invented warning, which is long enough to need a second line of text in a report",
       "something else, for example a smaller tp, a larger micro_batch or fewer stages in the pipeline"}};
  r.steps_to_tokens = 2288819.0;
  r.hours_to_tokens = 1271.5661;
  r.gpu_hours_to_tokens = 40690.1;
  r.fingerprint = 0x0123456789abcdefULL;
  r.events = 12345;
  r.wall_s = 0.012;
  r.peak_rss_bytes = 12'000'000;
  return r;
}

}  // namespace orrery::sim::testing
