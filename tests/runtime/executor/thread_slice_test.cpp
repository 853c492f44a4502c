// What a thread asked for is what the kernel says of it afterwards, and its niceness is as it was.
#include "runtime/executor/thread_slice.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <cstdio>
#include <thread>

namespace orrery::runtime {
namespace {

// 6.12: before, a slice is accepted and ignored.
bool kernel_knows_slices() {
  utsname name{};
  int major = 0, minor = 0;
  return ::uname(&name) == 0 && std::sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
         (major > 6 || (major == 6 && minor >= 12));
}

TEST(ThreadSlice, IsGrantedAndChangesNothingElse) {
  if (!kernel_knows_slices()) GTEST_SKIP() << "Linux before 6.12";
  std::thread([] {
    const int nice = ::getpriority(PRIO_PROCESS, 0);
    EXPECT_TRUE(ask_for_short_slice());
    EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), nice);
    EXPECT_EQ(::sched_getscheduler(0), SCHED_OTHER);
    timespec slice{};
    ASSERT_EQ(::sched_rr_get_interval(0, &slice), 0);
    EXPECT_EQ(slice.tv_sec, 0);
    EXPECT_LE(slice.tv_nsec, 1'000'000);  // without it: some milliseconds
  }).join();
}

TEST(ThreadSlice, LeavesAlonePoliciesThatSomebodyChose) {
  std::thread([] {
    const sched_param none{};
    ASSERT_EQ(::sched_setscheduler(0, SCHED_BATCH, &none), 0);
    EXPECT_FALSE(ask_for_short_slice());
    EXPECT_EQ(::sched_getscheduler(0), SCHED_BATCH);
  }).join();
}

}  // namespace
}  // namespace orrery::runtime
