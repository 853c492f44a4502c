// Clocks that differ by seconds and drift apart, on ranks that are threads.
#include "runtime/run/clock_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "runtime/comm/thread_world.h"
#include "runtime/executor/executor.h"

namespace orrery::runtime {
namespace {

TEST(ClockComparison, FindsHowFarOtherClocksAreAhead) {
  constexpr std::int64_t kAhead[] = {0, 5'000'000'000, 0, -7'000'000'000};
  const auto worlds = make_thread_worlds(4);
  std::vector<std::vector<ClockReading>> readings(2);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < 4; ++r)
    threads.emplace_back([&, r] {
      ClockComparison comparison(*worlds[r], {1, 3}, [&, r] { return now_ns() + kAhead[r]; });
      for (std::vector<ClockReading>& reading : readings) {
        std::vector<ClockReading> found = comparison.compare();
        if (r == 0) reading = std::move(found);
        else EXPECT_TRUE(found.empty());
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<ClockReading>& reading : readings) {
    ASSERT_EQ(reading.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_LE(std::abs(reading[i].ahead - kAhead[2 * i + 1]), reading[i].uncertainty) << i;
  }
}

TEST(ClockComparison, NobodyElseIsNothing) {
  const auto worlds = make_thread_worlds(1);
  EXPECT_TRUE(ClockComparison(*worlds[0], {}, now_ns).compare().empty());
}

TEST(OnRank0, TakesTheDifferenceToChangeEvenly) {
  const ClockReading start{.at = 1'000, .ahead = 100}, end{.at = 2'000, .ahead = 300};
  EXPECT_EQ(on_rank_0(1'100, start, end), 1'000);
  EXPECT_EQ(on_rank_0(1'700, start, end), 1'480) << "a third late: passed is reckoned with the first difference";
  EXPECT_EQ(on_rank_0(1'100, start, start), 1'000);
  std::int64_t last = 0;
  for (std::int64_t t = 1'100; t < 2'400; ++t) {
    EXPECT_GE(on_rank_0(t, start, end), last);
    last = on_rank_0(t, start, end);
  }
}

}  // namespace
}  // namespace orrery::runtime
