// The robust fit of fixed time, time per FLOP and time per byte: known laws come back, outliers do not bend them,
// and no term is negative.
#include "hardware/rate_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace orrery::hardware {
namespace {

std::vector<TimedWork> law(double fixed, double per_flop, double per_byte, double noise, unsigned seed) {
  std::mt19937 random(seed);
  const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
  std::vector<TimedWork> work;
  for (int i = 0; i < 60; ++i) {
    const double flops = per_flop > 0.0 ? std::pow(10.0, 4.0 + 6.0 * uniform()) : 0.0;
    const double bytes = std::pow(10.0, 3.0 + 5.0 * uniform());
    const double error = noise * (2.0 * uniform() - 1.0);
    work.push_back({flops, bytes, (fixed + flops * per_flop + bytes * per_byte) * std::exp(error)});
  }
  return work;
}

TEST(RateFit, FindsTheLawOfCleanPoints) {
  const RateFit fit = fit_rates(law(3e-6, 1e-10, 2e-10, 0.0, 1));
  EXPECT_NEAR(fit.fixed_s / 3e-6, 1.0, 1e-6);
  EXPECT_NEAR(fit.s_per_flop / 1e-10, 1.0, 1e-6);
  EXPECT_NEAR(fit.s_per_byte / 2e-10, 1.0, 1e-6);
}

TEST(RateFit, AFewOutliersDoNotBendIt) {
  std::vector<TimedWork> work = law(3e-6, 0.0, 2e-10, 0.02, 2);
  for (std::size_t i = 0; i < work.size(); i += 10) work[i].seconds *= 8.0;
  const RateFit fit = fit_rates(work);
  EXPECT_NEAR(fit.fixed_s / 3e-6, 1.0, 0.03);
  EXPECT_NEAR(fit.s_per_byte / 2e-10, 1.0, 0.03);
  EXPECT_EQ(fit.s_per_flop, 0.0);
}

TEST(RateFit, TermsAreNeverNegative) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const RateFit fit = fit_rates(law(1e-6, seed % 2 == 0 ? 1e-11 : 0.0, 1e-10, 0.8, seed));
    EXPECT_GE(fit.fixed_s, 0.0);
    EXPECT_GE(fit.s_per_flop, 0.0);
    EXPECT_GE(fit.s_per_byte, 0.0);
    EXPECT_GT(fit.seconds(1e6, 1e6), 0.0);
  }
}

TEST(RateFit, OnePointIsARate) {
  const std::vector<TimedWork> product = {{1e9, 1e6, 0.5}}, stream = {{0.0, 1e6, 0.25}}, nothing = {{0.0, 0.0, 0.125}};
  EXPECT_DOUBLE_EQ(fit_rates(product).seconds(2e9, 2e6), 1.0);
  EXPECT_DOUBLE_EQ(fit_rates(stream).seconds(0.0, 2e6), 0.5);
  EXPECT_DOUBLE_EQ(fit_rates(nothing).seconds(0.0, 2e6), 0.125);
}

}  // namespace
}  // namespace orrery::hardware
