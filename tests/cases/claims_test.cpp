// docs/cases/claims.md: its tables are what the program predicts, and each verdict holds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/diagnostics.h"
#include "sim/report/text_layout.h"
#include "tests/cases/document.h"
#include "tests/cases/runs.h"

namespace orrery::cases {
namespace {

using sim::bytes_text;
using sim::number_text;
using sim::percent_text;
using sim::seconds_text;

constexpr const char* kDocument = "docs/cases/claims.md";

std::string set(const char* path, std::int64_t value) { return fmt::format("{}={}", path, value); }

double data_share(const Case& r) { return r.result.exposed_by_group[1]; }

// --- overlapping communication gains 15-20 % ---

TEST(Claims, OverlapGainsWhatThereIsToHide) {
  Table table = {{"NICs a node", "microbatches a step", "apart", "overlapped", "gain"}};
  double least = 1.0, most = 0.0;
  for (const std::int64_t nics : {1, 4, 8})
    for (const std::int64_t m : {1, 4, 16}) {
      const std::vector<std::string> sets = {set("cluster.node.nics.count", nics),
                                             set("training.accumulation", m)};
      std::vector<std::string> apart_sets = sets;
      apart_sets.push_back("overlap.gradient_reduce=false");
      const Case apart = run_case("scenarios/claims/overlap.json", apart_sets),
                 overlapped = run_case("scenarios/claims/overlap.json", sets);
      const double gain = apart.step() / overlapped.step() - 1.0;
      table.push_back({fmt::format("{}", nics), fmt::format("{}", m), seconds_text(apart.step()),
                       seconds_text(overlapped.step()), signed_percent(gain)});
      EXPECT_GT(gain, 0.0);
      EXPECT_LE(gain, 1.0 / (1.0 - data_share(apart)) - 1.0 + 1e-9) << "more was hidden than there was";
      least = std::min(least, gain);
      most = std::max(most, gain);
    }
  EXPECT_LT(least, 0.02);
  EXPECT_GT(most, 0.20);
  expect_block(kDocument, "overlap", markdown(table));
}

// --- the best bucket is the parameters / parallel degree / 8 ---

double step_with_bucket(std::int64_t nodes, std::int64_t elements) {
  return run_case("scenarios/claims/buckets.json",
                  {set("cluster.nodes", nodes), set("overlap.bucket_elements", elements)})
      .step();
}

TEST(Claims, BestBucketGrowsWithTheRanks) {
  const std::vector<std::int64_t> sizes = {6'580'000,     13'200'000,   26'300'000,  52'600'000,
                                           105'000'000,   211'000'000,  421'000'000, 842'000'000,
                                           1'680'000'000, 6'740'000'000};
  Table table = {{"bucket, elements", "2 nodes", "16 nodes"}};
  std::map<std::int64_t, double> small, large;
  for (const std::int64_t size : sizes) {
    small[size] = step_with_bucket(2, size);
    large[size] = step_with_bucket(16, size);
    table.push_back({number_text(static_cast<double>(size) / 1e6) + " M", seconds_text(small[size]),
                     seconds_text(large[size])});
  }
  const auto faster = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto best_small = *std::min_element(small.begin(), small.end(), faster);
  const auto best_large = *std::min_element(large.begin(), large.end(), faster);
  EXPECT_GE(best_large.first, best_small.first) << "the rule says an eighth of it";
  EXPECT_GT(large[6'580'000], 1.2 * best_large.second) << "the rule's bucket: 6.74e9 / 128 / 8";
  EXPECT_LT(large[211'000'000], 1.03 * best_large.second) << "a broad optimum";
  EXPECT_LT(large[842'000'000], 1.03 * best_large.second);
  EXPECT_LT(small[52'600'000], 1.03 * best_small.second) << "the rule's bucket: 6.74e9 / 16 / 8";
  expect_block(kDocument, "buckets", markdown(table));
}

// --- the best batch grows sublinearly with GPUs ---

TEST(Claims, BatchForSpeedGrowsLinearly) {
  Table table = {{"nodes", "samples/s at most", "batch for 90 % of it", "batch a GPU"}};
  std::map<std::int64_t, std::int64_t> batch;
  for (const std::int64_t nodes : {2, 4, 8, 16, 32}) {
    const auto at = [&](std::int64_t m) {
      return run_case("scenarios/claims/best-batch.json",
                      {set("cluster.nodes", nodes), set("training.accumulation", m)});
    };
    const double most = at(128).result.samples_per_s;
    std::int64_t m = 1;
    while (at(m).result.samples_per_s < 0.9 * most) ++m;
    batch[nodes] = at(m).scenario.training.global_batch;
    table.push_back({fmt::format("{}", nodes), number_text(most), fmt::format("{}", batch[nodes]),
                     fmt::format("{}", batch[nodes] / (8 * nodes))});
  }
  for (const std::int64_t nodes : {2, 4, 8, 16})
    EXPECT_NEAR(static_cast<double>(batch[2 * nodes]) / static_cast<double>(batch[nodes]), 2.0, 0.2) << nodes;
  expect_block(kDocument, "batch", markdown(table));
}

// --- a wrong pipeline micro-batch makes a 65B run eight times slower; the best count is a multiple of the
// stages ---

TEST(Claims, OneMicrobatchWastesThePipeline) {
  Table table = {{"micro-batch", "microbatches", "step", "slower", "bubble formula"}};
  const double p = 16.0, best = run_case("scenarios/claims/pipeline-microbatch.json").step();
  double slowest = 1.0;
  for (const std::int64_t micro : {1, 2, 4, 8, 16}) {
    const Case r =
        run_case("scenarios/claims/pipeline-microbatch.json", {set("training.micro_batch", micro)});
    const auto m = static_cast<double>(r.scenario.training.microbatches);
    slowest = r.step() / best;
    const double formula = (m + p - 1.0) / m / ((16.0 + p - 1.0) / 16.0);
    EXPECT_LE(slowest, formula * 1.02);
    table.push_back({fmt::format("{}", micro), fmt::format("{}", r.scenario.training.microbatches),
                     seconds_text(r.step()), fmt::format("{:.1f} x", slowest),
                     fmt::format("{:.1f} x", formula)});
  }
  EXPECT_GT(slowest, 6.0);
  EXPECT_LT(slowest, p) << "no more than the stages";
  expect_block(kDocument, "microbatch", markdown(table));
}

TEST(Claims, MultiplesOfTheStagesAreNothingSpecial) {
  Table table = {{"microbatches", "samples/s", "TFLOP/s a GPU"}};
  double before = 0.0;
  for (const std::int64_t m : {15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65}) {
    const Case r = run_case("scenarios/claims/pipeline-microbatch.json", {set("training.global_batch", m)});
    EXPECT_GT(r.result.samples_per_s, before) << m;
    before = r.result.samples_per_s;
    table.push_back({fmt::format("{}", m), fmt::format("{:.2f}", r.result.samples_per_s),
                     number_text(r.result.model_tflops_per_gpu)});
  }
  EXPECT_THROW(
      run_case("scenarios/claims/pipeline-microbatch.json", {"parallel.vpp=5", "training.global_batch=33"}),
      InputError)
      << "Megatron's interleaved schedule takes multiples only";
  EXPECT_NO_THROW(
      run_case("scenarios/claims/pipeline-microbatch.json", {"parallel.vpp=5", "training.global_batch=32"}));
  expect_block(kDocument, "multiples", markdown(table));
}

// --- a bad plan for 530B loses 70 % to communication ---

std::vector<std::string> plan_row(const std::string& plan, const Case& r, bool was_measured) {
  return {plan, seconds_text(r.step()), percent_text(r.exposed()),
          was_measured ? seconds_text(*r.scenario.measured->step_time_s) : "-"};
}

TEST(Claims, PlanAndNetworkDecideWhat530BLoses) {
  const Case good = run_case("scenarios/megatron-sc21/530b-2240.json");
  const Case far = run_case("scenarios/megatron-sc21/530b-2240.json", {"parallel.tp=64"});
  const Case zero = run_case("scenarios/claims/530b-zero3.json");
  Table table = {{"plan", "step", "transfers, not hidden", "measured step"}};
  table.push_back(plan_row("TP8 x PP35 x DP8", good, true));
  table.push_back(plan_row("TP64 x PP35", far, false));
  table.push_back(plan_row("ZeRO-3, 8 NICs a node", zero, true));
  double one_nic = 0.0;
  for (const std::int64_t nics : {4, 2, 1}) {
    const Case r = run_case("scenarios/claims/530b-zero3.json", {set("cluster.node.nics.count", nics)});
    table.push_back(plan_row(fmt::format("ZeRO-3, {} NIC{} a node", nics, nics == 1 ? "" : "s"), r, false));
    one_nic = r.exposed();
  }
  EXPECT_LT(good.exposed(), 0.20);
  EXPECT_GT(far.exposed(), 0.45);
  EXPECT_GT(one_nic, 0.65);
  EXPECT_LT(zero.exposed(), 0.10);
  EXPECT_GT(*zero.scenario.measured->step_time_s, 3.0 * *good.scenario.measured->step_time_s)
      << "as published";
  expect_block(kDocument, "530b", markdown(table));
}

// --- 1.5 GB per billion fp16 parameters ---

TEST(Claims, SixteenBitsAreTwoBytes) {
  Table table = {{"model", "parameters", "fp16 weights", "GB a billion"}};
  for (const char* model : {"gpt-7b", "gpt-13b", "gpt-70b"}) {
    const Case r = run_case("scenarios/claims/overlap.json",
                            {fmt::format("model=models/zoo/{}.json", model), "training.precision=fp16",
                             "training.vocab_divisible_by=1"});
    const auto weights =
        static_cast<double>(r.result.stages[r.result.worst_stage]
                                .memory.by_kind[static_cast<std::size_t>(schedule::BufferKind::weight)]
                                .count());
    const auto parameters = static_cast<double>(models::parameter_count(r.scenario.model));
    EXPECT_NEAR(weights / parameters, 2.0, 0.01) << model;
    table.push_back({model, number_text(parameters / 1e9) + " B", bytes_text(weights),
                     fmt::format("{:.2f}", weights / parameters)});
  }
  expect_block(kDocument, "fp16", markdown(table));
}

// --- pipeline only above 100 layers ---

TEST(Claims, LayersDoNotDecideAboutAPipeline) {
  Table table = {{"model", "stages", "verdict", "memory", "step"}};
  std::map<std::int64_t, Case> wide, deep;
  const auto add = [&](const char* model, std::int64_t p, const Case& r) {
    table.push_back({model, fmt::format("{}", p), r.fits() ? "fits" : "does not fit",
                     bytes_text(r.result.peak_memory_bytes.value), seconds_text(r.step())});
  };
  for (const std::int64_t p : {1, 2, 4, 8, 16}) {
    wide[p] = run_case("scenarios/claims/pipeline-96-layers.json", {set("parallel.pp", p)});
    add("175B, 96 layers", p, wide[p]);
  }
  for (const std::int64_t p : {1, 2, 4, 8}) {
    deep[p] = run_case("scenarios/claims/pipeline-120-layers.json", {set("parallel.pp", p)});
    add("3.8B, 120 layers", p, deep[p]);
  }
  EXPECT_FALSE(wide[1].fits());
  EXPECT_TRUE(wide[8].fits());
  EXPECT_LT(wide[8].step(), wide[1].step());
  EXPECT_TRUE(deep[1].fits());
  EXPECT_LT(deep[1].step(), deep[8].step());
  expect_block(kDocument, "pipeline", markdown(table));
}

}  // namespace
}  // namespace orrery::cases
