// A checkpoint of one plan under another: what moves, what begins anew, and what is said about it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/runtime/state/reshard_check.h"

namespace orrery::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Every fifth pair here; all of them in reshard_pairs_test.cpp.
class Reshard : public testing::TestWithParam<std::size_t> {};

TEST_P(Reshard, UnderOtherPlans) {
  ASSERT_LT(GetParam(), most_state_plans());
  for (std::size_t from = GetParam(); from < most_state_plans(); from += 10) {
    SCOPED_TRACE(from);
    expect_reshards(state_models()[from % 3], from, 5);
  }
}
INSTANTIATE_TEST_SUITE_P(FromPlan, Reshard, testing::Range<std::size_t>(0, 10));

// Double into single and back: rounded once, and then kept.
TEST(ReshardTypes, FromDouble) {
  const models::Architecture a = state_models()[2];
  const CheckpointDirectory first, second;
  Job wide(compile_plan(a, "TP2"), true), narrow(compile_plan(a, "DP3 ZeRO-2")), again(compile_plan(a, "PP2"), true);
  put_trained_state(wide);
  save_job(wide, first.path(), 1);
  load_job(narrow, first.path());
  EXPECT_EQ(reshard_difference(wide, narrow, narrow), "");
  save_job(narrow, second.path(), 1);
  load_job(again, second.path());
  for (const StateRun& run : again.layouts[0].runs) {
    if (run.kind == StateKind::gradient) continue;
    const double value = trained_value(again.layouts[0].tensors[run.tensor].name, run.kind, run.row, run.column);
    EXPECT_EQ(again.memories[0].value(run, 0), rounded(value, Element::fp32));
  }
}

// --- residuals
// ------------------------------------------------------------------------------------------------------

double residual_sum(const Job& job) {
  double sum = 0.0;
  for (std::size_t rank = 0; rank < job.layouts.size(); ++rank)
    for (const StateRun& run : job.layouts[rank].runs)
      if (run.kind == StateKind::residual)
        for (std::int64_t i = 0; i < run.count(); ++i) sum += std::abs(job.memories[rank].value(run, i));
  return sum;
}

TEST(ReshardResiduals, MoveWithTheirLayers) {
  const models::Architecture a = state_models()[1];
  const CheckpointDirectory directory;
  Job saved(compile_plan(a, "DP2 compressed")), loaded(compile_plan(a, "PP2 DP2 ZeRO-1 compressed"));
  put_trained_state(saved);
  save_job(saved, directory.path(), 1);
  EXPECT_THAT(load_job(loaded, directory.path()).notes, IsEmpty());
  Job expected(compile_plan(a, "PP2 DP2 ZeRO-1 compressed"));
  put_trained_state(expected);
  EXPECT_GT(residual_sum(expected), 0.0);
  EXPECT_EQ(state_difference(expected, loaded), "");
}

TEST(ReshardResiduals, BeginAtZeroElsewhereAndSaySo) {
  const models::Architecture a = state_models()[1];
  const Plan three{"DP3 compressed", [](scenarios::Scenario& s) {
                     s.parallel.dp = 3;
                     s.training.global_batch = 6;
                     s.training.micro_batch = 1;
                     s.compression.top_k = 0.25;
                   }};
  const CheckpointDirectory compressed, plain;
  Job saved(compile_plan(a, "DP2 compressed")), none(compile_plan(a, "one rank"));
  put_trained_state(saved);
  put_trained_state(none);
  save_job(saved, compressed.path(), 1);
  save_job(none, plain.path(), 1);
  for (const std::string& path : {compressed.path(), plain.path()}) {
    Job other(compile_plan(a, three));
    EXPECT_THAT(load_job(other, path).notes, ElementsAre(HasSubstr("had not sent yet begin at 0")));
    EXPECT_EQ(residual_sum(other), 0.0);
  }
  EXPECT_THAT(load_job(none, compressed.path()).notes, ElementsAre(HasSubstr("had not sent yet are dropped")));
}

TEST(ReshardNotes, TellOfAnotherSeed) {
  const CheckpointDirectory directory;
  Job job(compile_plan(state_models()[1], "one rank"));
  put_trained_state(job);
  save_job(job, directory.path(), 1);
  job.schedule.hyper.seed = 8;
  EXPECT_THAT(load_job(job, directory.path()).notes,
              ElementsAre(HasSubstr("seed 7; data and dropout go on with seed 8")));
}

}  // namespace
}  // namespace orrery::runtime
