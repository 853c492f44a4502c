// How much memory may be used, read from texts as the kernel writes them.
#include "runtime/machine/memory.h"

#include <gtest/gtest.h>

namespace orrery::runtime {
namespace {

TEST(Memory, MeminfoIsInKibibytes) {
  const std::string text = "MemTotal:       24650508 kB\nMemFree:         1000 kB\nMemAvailable:   20480 kB\n";
  EXPECT_EQ(meminfo_bytes(text, "MemTotal"), 24650508LL * 1024);
  EXPECT_EQ(meminfo_bytes(text, "MemAvailable"), 20480LL * 1024);
  EXPECT_EQ(meminfo_bytes(text, "Mem"), 0);
}

TEST(Memory, TheControlGroupOfVersionTwo) {
  EXPECT_EQ(own_control_group("12:cpu:/a\n0::/user.slice/job\n"), "/user.slice/job");
  EXPECT_EQ(own_control_group("0::/\n"), "");
  EXPECT_EQ(own_control_group(""), "");
}

TEST(Memory, ALimitCountsWithWhatIsUsedOfIt) {
  const MemoryNow machine{1000, 800};
  const MemoryNow limited = within_limit(machine, "500\n", "300\n", "anon 200\ninactive_file 100\n");
  EXPECT_EQ(limited.total, 500);
  EXPECT_EQ(limited.available, 300) << "files that nobody uses can be dropped";
  EXPECT_EQ(within_limit(machine, "max\n", "300\n", "").available, 800);
  EXPECT_EQ(within_limit(machine, "", "", "").total, 1000);
  EXPECT_EQ(within_limit(machine, "5000", "300", "").total, 1000) << "a limit above the machine's memory";
  EXPECT_EQ(within_limit(machine, "500", "700", "").available, 0);
}

TEST(Memory, ThisMachineHasSome) {
  const MemoryNow now = memory_now();
  EXPECT_GT(now.available, 0);
  EXPECT_LE(now.available, now.total);
}

}  // namespace
}  // namespace orrery::runtime
