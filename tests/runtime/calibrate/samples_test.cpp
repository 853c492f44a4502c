// Medians and spreads of samples, and which samples are left out as disturbed.
#include "runtime/calibrate/samples.h"

#include <gtest/gtest.h>

namespace orrery::runtime {
namespace {

TEST(Samples, SayMedianAndPercentiles) {
  Samples samples;
  for (int i = 1; i <= 11; ++i) samples.add(1.0 + 0.001 * i, false);
  const SampleSummary s = samples.summary();
  EXPECT_NEAR(s.seconds, 1.006, 1e-6);
  EXPECT_NEAR(s.p10, 1.002, 1e-6);
  EXPECT_NEAR(s.p90, 1.010, 1e-6);
  EXPECT_EQ(s.samples, 11);
  EXPECT_EQ(s.outliers, 0);
}

TEST(Samples, ThoseOfAThreadThatLostItsCoreDoNotCount) {
  Samples samples;
  for (int i = 0; i < 4; ++i) samples.add(1.0, false);
  for (int i = 0; i < 9; ++i) samples.add(5.0, true);
  const SampleSummary s = samples.summary();
  EXPECT_DOUBLE_EQ(s.seconds, 1.0);
  EXPECT_EQ(s.samples, 4);
  EXPECT_EQ(s.outliers, 9);
}

TEST(Samples, WhereAllWereDisturbedTheyAreBetterThanNothing) {
  Samples samples;
  for (int i = 0; i < 5; ++i) samples.add(2.0, true);
  EXPECT_DOUBLE_EQ(samples.summary().seconds, 2.0);
  EXPECT_EQ(samples.summary().samples, 5);
}

TEST(Samples, FarOffOnBothSidesIsLeftOut) {
  Samples samples;
  for (int i = 0; i < 20; ++i) samples.add(1.0 + 0.001 * (i % 5), false);
  samples.add(9.0, false);
  samples.add(0.01, false);
  const SampleSummary s = samples.summary();
  EXPECT_NEAR(s.seconds, 1.002, 1e-6);
  EXPECT_EQ(s.outliers, 2);
  EXPECT_LE(s.p90, 1.005);
  EXPECT_GE(s.p10, 0.999);
}

TEST(Samples, MoreOfThemAreSurer) {
  Samples few, many;
  for (int i = 0; i < 8; ++i) few.add(1.0 + 0.01 * (i % 4), false);
  for (int i = 0; i < 128; ++i) many.add(1.0 + 0.01 * (i % 4), false);
  EXPECT_NEAR(few.summary().uncertainty / many.summary().uncertainty, 4.0, 0.6);  // sqrt(128 / 8)
  Samples two;
  two.add(1.0, false);
  two.add(1.0, false);
  EXPECT_DOUBLE_EQ(two.summary().uncertainty, 1.0);
}

TEST(Samples, MemoryIsBounded) {
  Samples samples;
  for (std::size_t i = 0; i < 3 * Samples::kMost; ++i) samples.add(1.0, false);
  EXPECT_EQ(samples.count(), Samples::kMost);
}

TEST(CoreWatch, SleepIsTimeWithoutACore) {
  CoreWatch watch;
  watch.begin();
  timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
  ::nanosleep(&pause, nullptr);
  EXPECT_TRUE(CoreWatch::lost(5'000'000, watch.ran_ns()));
  EXPECT_FALSE(CoreWatch::lost(5'000'000, 5'000'500));
  EXPECT_FALSE(CoreWatch::lost(100, 1'500));  // asking takes longer than the kernel
}

}  // namespace
}  // namespace orrery::runtime
