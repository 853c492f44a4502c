// Known laws are found again through noise, what does not fit is named, and curves that no line fits
// (CASES.md, N6) are told and kept.
#include "runtime/calibrate/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace orrery::runtime {
namespace {

// Times that alternate around the law by 2 %.
double noisy(double seconds, std::size_t i) { return seconds * (i % 2 == 0 ? 1.02 : 0.98); }

hardware::MeasuredKernel products() {
  hardware::MeasuredKernel kernel{.name = "gemm_tn.fp32", .dims = {"m", "n", "k"}, .points = {}, .place = {}};
  std::size_t i = 0;
  for (const std::int64_t m : {64, 128, 256, 512})
    for (const std::int64_t n : {64, 256, 1024}) {
      const double flops = 2.0 * static_cast<double>(m * n * 128);
      kernel.points.push_back({.dims = {m, n, 128},
                               .flops = flops,
                               .bytes = 4.0 * static_cast<double>(m * n),
                               .seconds = noisy(2e-6 + flops / 100e9, i++)});
    }
  return kernel;
}

hardware::TransferCurve curve(double alpha, double bandwidth) {
  hardware::TransferCurve c;
  std::size_t i = 0;
  for (std::int64_t bytes = 64; bytes <= std::int64_t{64} << 20; bytes *= 4)
    c.points.push_back(
        {.bytes = bytes, .seconds = noisy(alpha + static_cast<double>(bytes) / bandwidth, i++)});
  return c;
}

TEST(Findings, AKernelsLawIsFound) {
  const KernelFinding f = kernel_findings({products()}).front();
  EXPECT_EQ(f.sizes, 12U);
  EXPECT_NEAR(1.0 / f.line.s_per_flop, 100e9, 5e9);
  EXPECT_NEAR(f.line.fixed_s, 2e-6, 1e-6);
  EXPECT_LT(f.worst_off, 0.06);
  EXPECT_TRUE(f.outliers.empty());
  EXPECT_TRUE(notes_of(kernel_findings({products()})).empty());
}

TEST(Findings, ASizeThatTheLawDoesNotExplainIsNamedAndDoesNotBendIt) {
  hardware::MeasuredKernel kernel = products();
  kernel.points[7].seconds *= 3.0;
  const std::vector<KernelFinding> findings = kernel_findings({kernel});
  EXPECT_NEAR(1.0 / findings.front().line.s_per_flop, 100e9, 7e9);
  EXPECT_THAT(findings.front().outliers, testing::ElementsAre("256 x 256 x 128"));
  EXPECT_EQ(findings.front().worst_size, "256 x 256 x 128");
  EXPECT_THAT(notes_of(findings), testing::ElementsAre(testing::HasSubstr("256 x 256 x 128")));
}

TEST(Findings, ACurvesAlphaAndBetaAreFound) {
  const CurveFinding f = curve_findings({curve(10e-6, 8e9)}).front();
  EXPECT_NEAR(f.shape.line.fixed_s, 10e-6, 0.5e-6);
  EXPECT_NEAR(1.0 / f.shape.line.s_per_byte, 8e9, 0.4e9);
  EXPECT_TRUE(f.bend.empty());
}

TEST(Findings, ACollapsingBandwidthIsToldAndThePointsStay) {
  hardware::TransferCurve c = curve(10e-6, 28e9);
  c.points.back().seconds *= 28.0 / 5.0;
  const hardware::TransferCurve before = c;
  const std::vector<CurveFinding> findings = curve_findings({c});
  EXPECT_THAT(findings.front().bend, testing::HasSubstr("bandwidth falls"));
  EXPECT_THAT(notes_of(findings), testing::SizeIs(1));
  EXPECT_THAT(curve_lines(findings), testing::HasSubstr("no line fits, the points are kept"));
  EXPECT_EQ(c, before);
}

}  // namespace
}  // namespace orrery::runtime
