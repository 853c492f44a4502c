// Mixtures of experts, predicted: FLOPs are those of active experts, and experts that are not equally popular cost time and
// memory through the rank that gets the most.
#include <gtest/gtest.h>

#include "schedule/compile.h"
#include "schedule/expert_rows.h"
#include "tests/cases/runs.h"

namespace orrery::cases {
namespace {

const std::string kMixtral = "scenarios/mixtral-8x7b-64.json";

TEST(Experts, ModelFlopsAreThoseOfTheActiveOnes) {
  for (const std::string& path : {kMixtral, std::string("scenarios/deepseek-v3-2048.json")}) {
    const Case r = run_case(path);
    const scenarios::Training& t = r.scenario.training;
    const double forward = models::forward_flops(r.scenario.model, t.sequence_length, r.scenario.vocab_rows(), false);
    const double step = 3.0 * forward * static_cast<double>(t.global_batch);
    EXPECT_NEAR(r.result.model_flops, step, 1e-9 * step) << path;
  }
}

TEST(Experts, ImbalanceCostsTimeAndMemory) {
  const std::vector<std::string> zipf = {"experts.balance=zipf", "experts.zipf_exponent=0.5"};
  const Case balanced = run_case(kMixtral), uneven = run_case(kMixtral, zipf);
  const Case steep = run_case(kMixtral, {"experts.balance=zipf", "experts.zipf_exponent=1"});
  EXPECT_LT(balanced.step(), uneven.step());
  EXPECT_LT(uneven.step(), steep.step());
  EXPECT_LT(balanced.result.peak_memory_bytes.value, uneven.result.peak_memory_bytes.value);
  EXPECT_LT(uneven.result.peak_memory_bytes.value, steep.result.peak_memory_bytes.value);
  EXPECT_EQ(run_case(kMixtral, zipf).result.fingerprint, uneven.result.fingerprint);
  EXPECT_NEAR(balanced.result.model_flops, steep.result.model_flops, 1e-3 * steep.result.model_flops);
}

TEST(Experts, WhatIsDrawnIsWhatIsSent) {
  for (const char* exponent : {"0", "0.5", "1", "3"}) {
    scenarios::Scenario s =
        run_case(kMixtral, {"experts.balance=zipf", std::string("experts.zipf_exponent=") + exponent}).scenario;
    const std::vector<std::int64_t> rows = schedule::drawn_rows(s);
    std::int64_t sum = 0, most = 0;
    for (const std::int64_t n : rows) {
      sum += n;
      most = std::max(most, n);
    }
    const std::int64_t sent = schedule::sent_rows(s) * s.parallel.ep;
    if (rows.size() == 1)
      EXPECT_EQ(rows[0] * s.parallel.ep, sent) << exponent;
    else
      EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(sent), static_cast<double>(rows.size())) << exponent;
    EXPECT_LE(most, schedule::reserved_rows(s));
    s.experts.capacity_factor = 1.0;
    for (const std::int64_t n : schedule::drawn_rows(s))
      EXPECT_LE(n, schedule::capacity_rows(s) * s.model.experts.count / s.parallel.ep * s.parallel.ep) << exponent;
  }
}

// What DeepSeek-V3's training rests on, taken away one by one.
TEST(Experts, ExchangesAreHiddenAndGoByNode) {
  const std::string path = "scenarios/deepseek-v3-2048.json";
  const std::vector<std::string> one_way = {"parallel.schedule=1f1b", "overlap.expert_exchange=false"};
  std::vector<std::string> beside = one_way;
  beside.back() = "overlap.expert_exchange=true";
  const Case published = run_case(path), pairs = run_case(path, {"experts.dispatch=pairs"});
  const Case plain = run_case(path, one_way), shared = run_case(path, beside);
  const auto exposed = [](const Case& r) { return r.exposed() * r.step(); };
  EXPECT_LT(exposed(published), exposed(pairs)) << "a token once to each machine";
  EXPECT_LT(exposed(shared), exposed(plain)) << "shared experts compute meanwhile";
  EXPECT_LT(exposed(published), exposed(shared)) << "another microbatch computes meanwhile";
  EXPECT_LT(published.step(), shared.step());
  EXPECT_LT(shared.step(), plain.step());
  EXPECT_NEAR(published.result.model_flops, plain.result.model_flops, 1e-9 * plain.result.model_flops);
}

// Folding keeps what it must: every rank of the expert group by itself gives what the classes give.
TEST(Experts, EqualCountsAreBalanced) {
  const Case counts = run_case(kMixtral, {"experts.balance=counts", "experts.counts=[2, 2, 2, 2, 2, 2, 2, 2]"});
  EXPECT_EQ(counts.result.fingerprint, run_case(kMixtral).result.fingerprint);
}

}  // namespace
}  // namespace orrery::cases
