// When the loss scale grows, when it shrinks, and what counts as an overflow.
#include "kernels/cpu/loss/loss_scaler.h"

#include <gtest/gtest.h>

#include <limits>

namespace orrery::kernels {
namespace {

TEST(LossScaler, HalvesOnOverflowAndCountsAnew) {
  LossScaler s;
  s.growth_interval = 3;
  EXPECT_EQ(s.scale, 65536.0);
  s = after_step(after_step(s, false), false);
  s = after_step(s, true);
  EXPECT_EQ(s.scale, 32768.0);
  s = after_step(after_step(s, false), false);
  EXPECT_EQ(s.scale, 32768.0);
  s = after_step(s, false);
  EXPECT_EQ(s.scale, 65536.0);
  EXPECT_EQ(s.good_steps, 0);
}

TEST(LossScaler, StaysBetweenItsBounds) {
  LossScaler s;
  s.growth_interval = 1;
  for (int i = 0; i < 100; ++i) s = after_step(s, false);
  EXPECT_EQ(s.scale, s.largest);
  for (int i = 0; i < 100; ++i) s = after_step(s, true);
  EXPECT_EQ(s.scale, s.smallest);
}

TEST(LossScaler, SeesInfinityAndNanInTheNorm) {
  EXPECT_FALSE(overflowed(0.0));
  EXPECT_FALSE(overflowed(1e300));
  EXPECT_TRUE(overflowed(std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(overflowed(std::numeric_limits<double>::quiet_NaN()));
}

}  // namespace
}  // namespace orrery::kernels
