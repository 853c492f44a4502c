// Which steps a run performs, and of which it keeps times: the same on all ranks, whatever stops it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/run/run_trace.h"
#include "runtime/state/checkpoint_directory.h"
#include "schedule/trace_check.h"
#include "schedule/trace_file.h"
#include "tests/runtime/run/small_run.h"

namespace orrery::runtime {
namespace {

std::int64_t longest_program(const SmallRun& small) {
  std::size_t most = 0;
  for (std::int64_t rank = 0; rank < small.schedule.world; ++rank) most = std::max(most, plan_step(small.schedule, rank).ops.size());
  return static_cast<std::int64_t>(most);
}

TEST(KeptSteps, AreAsManyAsFitOnTheRankWithMostOps) {
  SmallRun small(two_stages());
  const std::int64_t ops = longest_program(small);
  ASSERT_NE(plan_step(small.schedule, 0).ops.size(), plan_step(small.schedule, 1).ops.size());
  small.job.options.most_records = 2 * 3 * ops;
  EXPECT_EQ(kept_steps(small.job), 3);
  small.job.options.most_records -= 1;
  EXPECT_EQ(kept_steps(small.job), 2);
  small.job.options.most_records = 1;
  EXPECT_EQ(kept_steps(small.job), 1) << "one, or there would be no trace";
}

// What is kept of a long run is the same steps on all ranks, and can be written and read.
TEST(KeptSteps, OfALongRunMakeATrace) {
  SmallRun small(two_stages(), {.steps = 9, .discard = 1});
  small.job.options.most_records = 2 * 3 * longest_program(small);
  const schedule::Trace trace = small.run().trace;
  EXPECT_EQ(trace.losses.size(), 9U);
  EXPECT_EQ(trace.first_step, 1);
  EXPECT_EQ(trace.steps, 3);
  EXPECT_EQ(schedule::whole_steps(small.schedule, trace), 3);
  EXPECT_NE(trace.machine.find("ranks are threads"), std::string::npos);
  const std::string path = testing::TempDir() + "orrery_kept_" + std::to_string(::getpid());
  schedule::write_trace(path, trace);
  EXPECT_EQ(schedule::read_trace(path), trace);
  std::filesystem::remove(path);
}

TEST(KeptSteps, AreThoseOfTheRankThatHasFewest) {
  SmallRun small(two_stages(), {.steps = 4});
  const schedule::Trace whole = small.run().trace;
  std::vector<schedule::RankTrace> ranks = whole.ranks;
  std::erase_if(ranks[1].records, [](const schedule::TraceRecord& r) { return r.step > 1; });
  schedule::Trace merged = empty_trace(small.job, "");
  merge_ranks(small.job, std::move(ranks), whole.losses, merged);
  EXPECT_EQ(merged.steps, 2);
  EXPECT_EQ(schedule::whole_steps(small.schedule, merged), 2);
  EXPECT_EQ(merged.ranks[0].records.back().step, 1);
}

// The rank that is asked may be two steps ahead of the others; all end after the same step.
TEST(Stopping, EndsAllRanksAfterTheSameStep) {
  for (int trial = 0; trial < 5; ++trial) {
    SmallRun small(two_stages(), {.steps = 1'000'000});
    const RunResult result = small.run([&](int rank) {
      RankHooks hooks;
      if (rank == 0)
        hooks.on_step = [&](std::int64_t step, double) {
          if (step == 3 + trial) small.stop.ask();
        };
      return hooks;
    });
    EXPECT_FALSE(result.error);
    EXPECT_FALSE(result.trace.complete);
    const auto done = static_cast<std::int64_t>(result.trace.losses.size());
    EXPECT_GT(done, 3 + trial);
    EXPECT_LE(done, 3 + trial + 5);
    EXPECT_EQ(result.trace.steps, done);
    EXPECT_EQ(schedule::whole_steps(small.schedule, result.trace), done);
  }
}

// Stretches between checkpoints may be shorter than what ranks run ahead: the request outlives them.
TEST(Stopping, EndsARunThatSavesAfterEveryFewSteps) {
  const std::string directory = testing::TempDir() + "orrery_stop_" + std::to_string(::getpid());
  for (const std::int64_t every : {1, 2, 3, 5}) {
    std::filesystem::remove_all(directory);
    SmallRun small(two_stages(), {.steps = 60, .save_directory = directory, .save_every = every});
    const RunResult result = small.run([&](int rank) {
      RankHooks hooks;
      if (rank == 0)
        hooks.on_step = [&](std::int64_t step, double) {
          if (step == 4) small.stop.ask();
        };
      return hooks;
    });
    EXPECT_FALSE(result.error);
    EXPECT_TRUE(result.stopped);
    const auto done = static_cast<std::int64_t>(result.trace.losses.size());
    EXPECT_GE(done, 5);
    EXPECT_LE(done, 10) << "every " << every;
    EXPECT_EQ(complete_steps(directory).back(), done) << "the last checkpoint is of the last step";
  }
  std::filesystem::remove_all(directory);
}

TEST(Resuming, CountsStepsFromTheCheckpoint) {
  const std::string directory = testing::TempDir() + "orrery_resume_" + std::to_string(::getpid());
  std::filesystem::remove_all(directory);
  EXPECT_FALSE(SmallRun(two_stages(), {.steps = 4, .save_directory = directory}).run().error);
  SmallRun resumed(two_stages(), {.steps = 3, .discard = 1, .resume = directory});
  const schedule::Trace trace = resumed.run().trace;
  EXPECT_TRUE(trace.complete);
  EXPECT_EQ(trace.losses.size(), 3U);
  EXPECT_EQ(trace.first_step, 5);
  EXPECT_EQ(trace.steps, 2);
  EXPECT_EQ(schedule::whole_steps(resumed.schedule, trace), 2);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace orrery::runtime
