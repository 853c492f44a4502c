// Every scenario that ships is predicted: without an error, with a waterfall that sums to the step, with
// shares between 0 and 1 and no negative number.
#include <gtest/gtest.h>

#include <cctype>
#include <numeric>

#include "tests/cases/runs.h"

namespace orrery::cases {
namespace {

class Shipped : public testing::TestWithParam<std::string> {};

void expect_share(double value, const char* what) {
  EXPECT_GE(value, 0.0) << what;
  EXPECT_LE(value, 1.0 + 1e-9) << what;
}

void expect_time(const sim::Result& r) {
  EXPECT_GT(r.step_time_s.low, 0.0);
  EXPECT_LE(r.step_time_s.low, r.step_time_s.value);
  EXPECT_LE(r.step_time_s.value, r.step_time_s.high);
  for (const double part : r.waterfall_s) EXPECT_GE(part, 0.0);
  const double sum = std::accumulate(r.waterfall_s.begin(), r.waterfall_s.end(), 0.0);
  EXPECT_NEAR(sum, r.step_time_s.value, 1e-6 * r.step_time_s.value);
  for (const sim::StageResult& stage : r.stages)
    for (const double part : stage.waterfall_s) EXPECT_GE(part, 0.0) << stage.name;
}

void expect_shares(const sim::Result& r) {
  expect_share(r.mfu, "MFU");
  expect_share(r.hfu, "HFU");
  EXPECT_GE(r.hfu, r.mfu * (1.0 - 1e-9));
  expect_share(r.gpu_busy, "busy");
  expect_share(r.bubble_fraction, "bubble");
  expect_share(r.communication_total, "transfers");
  expect_share(r.communication_exposed, "transfers, not hidden");
  EXPECT_LE(r.communication_exposed, r.communication_total + 1e-9);
  for (std::size_t g = 0; g < r.communication_by_group.size(); ++g)
    EXPECT_LE(r.exposed_by_group[g], r.communication_by_group[g] + 1e-9) << g;
}

void expect_memory(const sim::Result& r) {
  ASSERT_FALSE(r.stages.empty());
  for (const sim::StageResult& stage : r.stages) {
    EXPECT_GT(stage.memory.peak, Bytes()) << stage.name;
    EXPECT_GE(stage.total, stage.memory.peak) << stage.name;
    EXPECT_LE(stage.total.count(), r.peak_memory_bytes.value * (1.0 + 1e-9)) << stage.name;
  }
  EXPECT_LE(r.peak_memory_bytes.low, r.peak_memory_bytes.value);
  EXPECT_LE(r.peak_memory_bytes.value, r.peak_memory_bytes.high);
  EXPECT_GE(r.host_bytes, Bytes());
}

TEST_P(Shipped, IsPredicted) {
  const Case r = run_case(GetParam());
  EXPECT_FALSE(r.scenario.name.empty());
  expect_time(r.result);
  expect_shares(r.result);
  expect_memory(r.result);
  EXPECT_EQ(r.scenario.measured.has_value() && r.scenario.measured->source.empty(), false)
      << "a measurement needs a source";
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(std::string("scenarios/").size());
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Shipped, testing::ValuesIn(shipped_scenarios()), test_name);

}  // namespace
}  // namespace orrery::cases
