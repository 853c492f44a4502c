// What the system says of the machine, read from texts as the kernel writes them.
#include "runtime/machine/machine.h"

#include <gtest/gtest.h>

namespace orrery::runtime {
namespace {

TEST(Machine, ProcessorIsFoundInCpuinfo) {
  const std::string text =
      "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 2\nmodel name\t: AMD EPYC 7B13\nflags\t\t:\n";
  EXPECT_EQ(cpuinfo_field(text, "model name"), "AMD EPYC 7B13");
  EXPECT_EQ(cpuinfo_field(text, "model"), "2");
  EXPECT_EQ(cpuinfo_field(text, "flags"), "");
  EXPECT_EQ(cpuinfo_field(text, "colour"), "");
}

TEST(Machine, AQuotaIsPartsOfCores) {
  EXPECT_DOUBLE_EQ(quota_of_cpu_max("150000 100000"), 1.5);
  EXPECT_DOUBLE_EQ(quota_of_cpu_max("max 100000"), 0.0);
  EXPECT_DOUBLE_EQ(quota_of_cpu_max(""), 0.0);
}

TEST(Machine, RanksShareWholeCoresWithinTheQuota) {
  Machine m;
  m.cores = 8;
  EXPECT_EQ(m.usable_cores(), 8);
  m.quota_cores = 2.5;
  EXPECT_EQ(m.usable_cores(), 2);
  m.quota_cores = 0.5;
  EXPECT_EQ(m.usable_cores(), 1);
  m.quota_cores = 20.0;
  EXPECT_EQ(m.usable_cores(), 8);
}

TEST(Machine, ThisOneHasCoresAndMemoryAndAName) {
  const Machine m = this_machine();
  EXPECT_GE(m.usable_cores(), 1);
  EXPECT_GT(m.memory_bytes, 1 << 20);
  EXPECT_NE(words(m).find(m.processor), std::string::npos);
  EXPECT_NE(words(m).find("core"), std::string::npos);
}

}  // namespace
}  // namespace orrery::runtime
