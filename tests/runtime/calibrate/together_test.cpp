// Threads that measure together: all run; and where the system gives none, each absence is told and the error is thrown.
#include "runtime/calibrate/together.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <barrier>

#include "base/check.h"

namespace orrery::runtime {
namespace {

TEST(RunTogether, AllMeet) {
  std::barrier<> meeting(3);
  std::atomic<std::size_t> sum = 0;
  run_together(
      3,
      [&](std::size_t i) {
        meeting.arrive_and_wait();
        sum += i + 1;
      },
      [] { FAIL() << "a thread is missing"; });
  EXPECT_EQ(sum.load(), 6U);
}

TEST(RunTogether, MissingThreadsAreTold) {
  // No address space holds such a stack, so no thread can be started until the default is put back.
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_attr_init(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 50), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  int missing = 0;
  std::atomic<int> ran = 0;
  EXPECT_THROW(run_together(
                   3, [&](std::size_t) { ++ran; }, [&] { ++missing; }),
               WorldError);
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
  EXPECT_EQ(missing, 3);
  EXPECT_EQ(ran.load(), 0);
  pthread_attr_destroy(&usual);
  pthread_attr_destroy(&huge);
}

}  // namespace
}  // namespace orrery::runtime
