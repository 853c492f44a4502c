// Ranks that are threads and do not go on: that is said, and the job ends; and what the watch says of ranks that are in no step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>

#include "base/diagnostics.h"
#include "runtime/comm/thread_world.h"
#include "runtime/run/watch.h"
#include "tests/runtime/run/small_run.h"

namespace orrery::runtime {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string message_of(const std::exception_ptr& error) {
  try {
    if (error) std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

// From the third step on, the data does not come; until the run has failed, or never.
class HeldTokens final : public TokenSource {
 public:
  HeldTokens(const TokenSource& source, const StopSign* until) : source_(source), until_(until) {}
  void fill(SequenceKey key, std::span<std::int32_t> tokens) const override {
    while (key.step >= 2 && (until_ == nullptr || !until_->failed())) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    source_.fill(key, tokens);
  }
  std::string description() const override { return source_.description(); }
  std::uint64_t fingerprint() const override { return source_.fingerprint(); }
  double entropy_floor() const override { return 0.0; }

 private:
  const TokenSource& source_;
  const StopSign* until_;
};

TEST(Stall, EndsThreadsThatCanLeave) {
  SmallRun small(two_stages(), {.steps = 100});
  const HeldTokens held(*small.tokens, &small.stop);
  small.job.tokens = &held;
  const RunResult result = run_as_threads(small.job, small.stop, {.no_progress_s = 0.3, .last_words_s = 60.0},
                                          [](int) { return RankHooks{}; }, [](const std::string&, const RunResult&) { std::abort(); });
  EXPECT_THAT(message_of(result.error), AllOf(HasSubstr("no progress for"), HasSubstr("rank 0: input"), HasSubstr("step 2"), HasSubstr("--stall-limit")));
  EXPECT_GE(result.trace.steps, 1) << "the data of a step is asked for while the one before still runs";
}

TEST(StallDeathTest, LeavesThreadsThatCannot) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        SmallRun small(two_stages(), {.steps = 100});
        const HeldTokens held(*small.tokens, nullptr);
        small.job.tokens = &held;
        run_as_threads(small.job, small.stop, {.no_progress_s = 0.3, .last_words_s = 0.1}, [](int) { return RankHooks{}; },
                       [](const std::string& message, const RunResult& result) {
                         std::fprintf(stderr, "%s; %d steps\n", message.c_str(), result.trace.steps);
                         std::_Exit(3);
                       });
      },
      testing::ExitedWithCode(3), "no progress for.*rank 0: input.*; [12] steps");
}

// As the watch does, of a rank that may be anywhere: before its executor is made, in a step, between two runs.
TEST(RankRun, CanBeAskedWhileItRuns) {
  const std::string directory = testing::TempDir() + "orrery_asked_" + std::to_string(::getpid());
  scenarios::Scenario one = two_stages();
  one.parallel.pp = 1;
  one.parallel.layers_of_stage = {4};
  SmallRun small(one, {.steps = 30, .discard = 1, .save_directory = directory, .save_every = 10});
  const auto worlds = make_thread_worlds(1);
  BoardSlot slot;
  RankRun run(small.job, *worlds[0], slot, small.stop, {});
  std::atomic<bool> over{false};
  std::thread thread([&] {
    run.run();
    over.store(true);
  });
  std::size_t seen = 0;
  while (!over.load()) {
    const std::size_t records = run.trace().records.size();
    EXPECT_GE(records, seen);
    seen = records;
    EXPECT_LE(run.losses().size(), 30U);
  }
  thread.join();
  EXPECT_EQ(run.losses().size(), 30U);
  EXPECT_EQ(run.trace().records.size(), 29 * plan_step(small.schedule, 0).ops.size());
  std::filesystem::remove_all(directory);
}

TEST(Agreement, RanksOfDifferentSchedulesDoNotStart) {
  SmallRun one(two_stages(), {.steps = 1}), other(two_stages(), {.steps = 1});
  other.job.fingerprint ^= std::uint64_t{1} << 40;
  const auto worlds = make_thread_worlds(2);
  std::vector<BoardSlot> slots(2);
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      try {
        RankRun(r == 0 ? one.job : other.job, *worlds[r], slots[r], one.stop, {}).run();
      } catch (const WorldError& error) {
        errors[r] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) EXPECT_THAT(error, HasSubstr("rank 1 holds another schedule or model than rank 0"));
}

// A watch of two ranks that are in these states, and what it says.
std::string watched(RankState first, RankState second, std::int64_t process_of_first = 0) {
  const SmallRun small(two_stages());
  std::vector<BoardSlot> slots(2);
  slots[0].state.store(first);
  slots[1].state.store(second);
  slots[0].process.store(process_of_first);
  std::promise<std::string> said;
  const Watch watch(small.schedule, {&slots[0], &slots[1]}, {.no_progress_s = 0.05}, small.stop,
                    [&](const std::string& message) { said.set_value(message); });
  return said.get_future().get();
}

TEST(Watch, LooksAtRanksBetweenTheirRuns) {
  const std::string message = watched(RankState::between_runs, RankState::saving);
  EXPECT_THAT(message, HasSubstr("\n  rank 1: is writing its part of a checkpoint\n  rank 0: has ended its steps"));
  EXPECT_THAT(watched(RankState::finished, RankState::between_runs), HasSubstr("no progress for"));
}

TEST(Watch, SeesAProcessThatDied) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const std::string message = watched(RankState::between_runs, RankState::running, child);
  EXPECT_THAT(message, HasSubstr("rank 0 (process " + std::to_string(child) + ") died"));
  EXPECT_THAT(message, Not(HasSubstr("no progress")));
}

}  // namespace
}  // namespace orrery::runtime
