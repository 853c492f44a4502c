// Errors of runs, and their summaries by group, against hand-made numbers.
#include "sim/validation/run_errors.h"

#include <gtest/gtest.h>

#include "sim/validation/accuracy_report.h"

namespace orrery::sim {
namespace {

PublishedRun run_named(const std::string& source, std::int64_t tp, std::int64_t dp, int zero) {
  PublishedRun run;
  run.source = source;
  run.id = source + std::to_string(tp * dp);
  run.framework = "Some (thing)";
  run.scenario.parallel.tp = tp;
  run.scenario.parallel.dp = dp;
  run.scenario.parallel.zero = zero;
  run.scenario.cluster.gpu.name = "G";
  return run;
}

class Errors : public testing::Test {
 protected:
  void SetUp() override {
    runs = {run_named("a", 2, 4, 1), run_named("a", 1, 16, 0), run_named("b", 1, 1, 3)};
    errors.resize(3);
    for (std::size_t i = 0; i < 3; ++i) errors[i].run = &runs[i];
    errors[0].time = {10.0, 11.0, 9.0, 12.0};   // +10 %, inside
    errors[1].time = {10.0, 8.0, 7.0, 9.0};     // -20 %, outside
    errors[2].time = {10.0, 13.0, 10.0, 16.0};  // +30 %, on the edge: inside
    errors[1].memory = {100.0, 99.0, 90.0, 110.0};
  }
  std::vector<PublishedRun> runs;
  std::vector<RunError> errors;
};

TEST_F(Errors, Summary) {
  const std::vector<ErrorSummary> all = summaries(errors, &RunError::time, GroupBy::all);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].count, 3U);
  EXPECT_NEAR(all[0].mean, 0.2, 1e-12);
  EXPECT_NEAR(all[0].median, 0.2, 1e-12);
  EXPECT_NEAR(all[0].p90, 0.28, 1e-12);
  EXPECT_NEAR(all[0].worst, 0.3, 1e-12);
  EXPECT_NEAR(all[0].bias, 0.1, 1e-12);
  EXPECT_NEAR(all[0].inside, 2.0 / 3.0, 1e-12);
  EXPECT_NEAR(all[0].width, 1.0 / 3.0, 1e-12);
}

TEST_F(Errors, Groups) {
  EXPECT_EQ(group_of(errors[0], GroupBy::parallelism), "TP+ZeRO-1");
  EXPECT_EQ(group_of(errors[1], GroupBy::parallelism), "DP");
  EXPECT_EQ(group_of(errors[2], GroupBy::parallelism), "one GPU");
  EXPECT_EQ(group_of(errors[1], GroupBy::size), "  9 to 64");
  EXPECT_EQ(group_of(errors[0], GroupBy::framework), "Some");
  EXPECT_EQ(summaries(errors, &RunError::time, GroupBy::source).size(), 2U);
  const std::vector<ErrorSummary> memory = summaries(errors, &RunError::memory, GroupBy::source);
  ASSERT_EQ(memory.size(), 1U);
  EXPECT_EQ(memory[0].group, "a");
  EXPECT_EQ(memory[0].count, 1U);
}

TEST_F(Errors, TheReportNamesTheWorst) {
  const std::string text = accuracy_text(errors, 1);
  EXPECT_NE(text.find("+30.0 %  b1: 10.0 s measured, 13.0 s predicted"), std::string::npos) << text;
  EXPECT_EQ(text.find("a8: "), std::string::npos) << text;
  EXPECT_NE(accuracy_csv(errors).find("a,a16,step time,10,8,-0.2000,7,9,no"), std::string::npos) << accuracy_csv(errors);
}

}  // namespace
}  // namespace orrery::sim
