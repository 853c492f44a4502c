// A prediction that rests on measured tables: a CPU machine whose kernels and transfers were all measured,
// some of them, or none; how the answer says which.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "hardware/kernel_table.h"
#include "hardware/transfer_table.h"
#include "schedule/compile.h"
#include "schedule/kernel_key.h"
#include "sim/metrics/predict.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A small GPT in fp32 on one node of `ranks` ranks and `cores` cores, data-parallel over all of them.
scenarios::Scenario scenario(int ranks, int cores, int hidden = 64) {
  return testing::written(fmt::format(R"({{ "name": "on CPUs",
  "model": {{ "layers": 2, "hidden": {}, "heads": 4, "kv_heads": 4, "ffn_hidden": {}, "vocab": 256, "position": "learned",
             "max_positions": 32 }},
  "cluster": {{ "name": "CPUs", "source": "a test",
    "gpu": {{ "kind": "cpu", "name": "core", "source": "a test", "dense_peak": {{ "fp32": "50 GFLOP/s" }},
             "memory": "4 GiB", "memory_bandwidth": "10 GB/s", "kernel_table": {{
               "provenance": {{ "machine": "m", "date": "d", "program": "p" }}, "op_overhead": "1 us", "kernels": [] }} }},
    "nodes": 1, "node": {{ "gpus": {}, "cores": {},
      "host": {{ "memory": "16 GiB", "memory_bandwidth": "20 GB/s", "cpu_vendor": "amd" }} }},
    "fabric": {{ "kind": "none" }},
    "transfers": {{ "provenance": {{ "machine": "m", "date": "d", "program": "p" }}, "curves": [] }} }},
  "training": {{ "global_batch": {}, "micro_batch": 2, "sequence_length": 32, "precision": "fp32" }} }})",
                                      hidden, 4 * hidden, ranks, cores, 4 * ranks));
}

double law(const schedule::KernelKey& key) { return 1e-6 + key.flops / 20e9 + key.bytes / 8e9; }

// Every kernel of the scenarios at its sizes, timed by the law, and slower by half with two ranks busy.
std::shared_ptr<hardware::KernelTable> table_of(const std::vector<scenarios::Scenario>& measured) {
  std::map<std::string, hardware::MeasuredKernel> kernels;
  for (const scenarios::Scenario& s : measured) {
    const schedule::Schedule schedule = schedule::compile(s);
    for (const schedule::Program& program : schedule.programs)
      for (const schedule::Op& op : program.ops) {
        if (!schedule::has_kernel_key(op.kind)) continue;
        const schedule::KernelKey key = schedule::kernel_key(program, op, schedule.shapes[op.shape]);
        hardware::MeasuredKernel& kernel = kernels[key.name];
        const auto dims = schedule::dimension_names(op.kind);
        kernel.name = key.name;
        kernel.dims.assign(dims.begin(), dims.end());
        hardware::KernelPoint point{key.dims, key.flops,      key.bytes, law(key), law(key),
                                    law(key), 1.5 * law(key), 9,         0};
        const auto same = [&](const hardware::KernelPoint& p) { return p.dims == point.dims; };
        if (std::none_of(kernel.points.begin(), kernel.points.end(), same)) kernel.points.push_back(point);
      }
  }
  auto table = std::make_shared<hardware::KernelTable>();
  table->provenance = {"two cores", "2026-11-30", "orrery-rt", "--quick", {"a curve bends"}};
  table->op_overhead = Duration::from_us(1);
  table->busy_ranks = 2;
  for (auto& [name, kernel] : kernels) table->kernels.push_back(std::move(kernel));
  return table;
}

std::shared_ptr<hardware::TransferTable> transfers(double cores) {
  auto table = std::make_shared<hardware::TransferTable>();
  table->provenance = {"two cores", "2026-11-30", "orrery-rt", "", {}};
  for (std::size_t o = 0; o < hardware::kTransferOperations; ++o) {
    hardware::TransferCurve curve;
    curve.operation = static_cast<hardware::TransferOperation>(o);
    curve.cores = cores;
    for (std::int64_t bytes = 1; bytes < 1 << 28; bytes *= 4) {
      const double s = 5e-6 + static_cast<double>(bytes) / 3e9;
      curve.points.push_back({bytes, s, s, s, 9, 0});
    }
    table->curves.push_back(curve);
  }
  return table;
}

// What one rank does, one op after the other.
double sum_of_kernels(const scenarios::Scenario& s) {
  const schedule::Schedule schedule = schedule::compile(s);
  const schedule::Program& program = schedule.programs[0];
  double sum = 0.0;
  schedule::for_each_call(program, 1'000'000, [&](const schedule::Call& call, std::uint32_t, std::uint32_t) {
    for (const schedule::Op& op : program.ops_of(program.block(call)))
      if (schedule::has_kernel_key(op.kind))
        sum += 1e-6 + law(schedule::kernel_key(program, op, schedule.shapes[op.shape]));
  });
  return sum;
}

std::string warnings_of(const Result& r) {
  std::string all;
  for (const Diagnostic& d : r.warnings) all += d.message + "\n";
  return all;
}

TEST(MeasuredMachine, AStepOfMeasuredKernelsIsTheirSum) {
  scenarios::Scenario s = scenario(1, 2);
  s.cluster.gpu.kernel_table = table_of({s});
  const Result r = predict(s).result;
  EXPECT_NEAR(r.step_time_s.value, sum_of_kernels(s), 1e-9);
  EXPECT_NEAR(r.measured_fraction, 1.0, 1e-9);
  EXPECT_THAT(warnings_of(r), Not(HasSubstr("table")));
  EXPECT_EQ(r.stages[0].total, r.stages[0].memory.peak);  // nothing outside of the arena
}

TEST(MeasuredMachine, SizesBetweenAreInterpolatedAndSaySo) {
  scenarios::Scenario s = scenario(1, 2, 96);
  s.cluster.gpu.kernel_table = table_of({scenario(1, 2, 32), scenario(1, 2, 64), scenario(1, 2, 128)});
  const Result r = predict(s).result;
  EXPECT_NEAR(r.step_time_s.value / sum_of_kernels(s), 1.0, 0.02);
  EXPECT_GT(r.interpolated_fraction, 0.7);
  EXPECT_NEAR(r.measured_fraction + r.interpolated_fraction + r.modelled_fraction, 1.0, 1e-9);
}

TEST(MeasuredMachine, WhatTheTableLacksIsNamed) {
  scenarios::Scenario s = scenario(1, 2);
  auto table = table_of({s});
  std::erase_if(table->kernels,
                [](const auto& kernel) { return kernel.name.starts_with("attention_backward"); });
  s.cluster.gpu.kernel_table = table;
  const Result r = predict(s).result;
  EXPECT_THAT(warnings_of(r),
              HasSubstr("the kernel table lacks attention_backward.causal.fp32 (instead: its FLOPs"));
  EXPECT_GT(r.modelled_fraction, 0.0);
  EXPECT_GT(r.measured_fraction, 0.5);
}

// Two ranks at once: each kernel takes half as long again; on one core twice as long, and nothing else runs
// beside it.
TEST(MeasuredMachine, RanksSlowEachOther) {
  const scenarios::Scenario alone = scenario(1, 2);
  const auto step = [&](int cores) {
    scenarios::Scenario s = scenario(2, cores);
    s.cluster.gpu.kernel_table = table_of({alone, s});
    s.cluster.transfers = transfers(0.0);
    const Result r = predict(s).result;
    EXPECT_NEAR(r.measured_fraction + r.interpolated_fraction, 1.0, 1e-9);
    return r.waterfall_s[static_cast<std::size_t>(Share::compute)];
  };
  const double kernels = sum_of_kernels(alone);
  EXPECT_NEAR(step(2) / kernels, 1.5, 0.02);
  EXPECT_NEAR(step(1) / kernels, 2.0, 0.02);
}

TEST(MeasuredMachine, TransfersTakeCoresFromKernels) {
  const auto step = [&](double cores) {
    scenarios::Scenario s = scenario(2, 2);
    s.cluster.gpu.kernel_table = table_of({s});
    s.cluster.transfers = transfers(cores);
    return predict(s).result.step_time_s.value;
  };
  EXPECT_GT(step(1.0), 1.001 * step(0.0));
}

// Two machines of two ranks and one core: every rank simulated, or one for all.
TEST(MeasuredMachine, FoldedIsUnfolded) {
  scenarios::Scenario s = scenario(4, 1);
  s.cluster.nodes = 2;
  s.cluster.node.gpus = 2;
  s.cluster.node.nics = {{Bandwidth(1e9), 0}};
  s.cluster.fabric.kind = hardware::FabricKind::one_switch;
  s.cluster.fabric.efficiency = 0.9;
  s.cluster.gpu.kernel_table = table_of({s});
  auto curves = transfers(0.7);
  for (std::size_t o = 0; o < hardware::kTransferOperations; ++o) {
    curves->curves.push_back(curves->curves[o]);
    curves->curves.back().placement = hardware::TransferPlacement::across_nodes;
  }
  s.cluster.transfers = curves;
  PredictOptions options;
  const Prediction folded = predict(s, options);
  options.simulation.fold = false;
  const Prediction full = predict(s, options);
  EXPECT_LT(folded.simulation.classes.size(), full.simulation.classes.size());
  EXPECT_EQ(folded.simulation.step_time, full.simulation.step_time);
  for (std::size_t i = 0; i < kShares; ++i)
    EXPECT_NEAR(folded.result.waterfall_s[i], full.result.waterfall_s[i], 1e-15) << i;
}

TEST(MeasuredMachine, TheAnswerSaysWhereItsTimesComeFrom) {
  scenarios::Scenario s = scenario(2, 2);
  s.cluster.gpu.kernel_table = table_of({s});
  s.cluster.transfers = transfers(0.5);
  std::map<std::string, std::string> sources;
  for (const UncertainPart& part : predict(s).result.parts) sources[part.name] = part.source;
  EXPECT_EQ(sources["matrix products (measured)"], "kernel table: two cores; 2026-11-30; orrery-rt --quick");
  EXPECT_EQ(sources["data-parallel transfers (exposed) (interpolated)"],
            "transfer table: two cores; 2026-11-30; orrery-rt");
}

}  // namespace
}  // namespace orrery::sim
