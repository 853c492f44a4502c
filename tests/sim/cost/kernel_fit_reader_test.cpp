// The reader of kernel fits and profiles: every error at its place, transfer from the nearest relative.
#include "hardware/kernel_fit_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/cost/gpus.h"

namespace orrery::hardware {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string findings(const std::string& text) {
  Diagnostics diagnostics;
  const Json json = parse_json(std::make_shared<SourceFile>(SourceFile{"profile.json", text}), diagnostics);
  KernelFits fits;
  read_kernel_fits(json, diagnostics, fits);
  return diagnostics.text();
}

std::string file_text(const std::string& path) { return read_source(path)->text; }

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(KernelFitReader, ReadsEveryShippedProfile) {
  for (const Gpu& gpu : sim::shipped_gpus()) {
    for (const KernelFit& fit : gpu.fits) {
      EXPECT_GT(fit.peak_fraction, 0.0) << gpu.name;
      EXPECT_LE(fit.residual_low, 0.0) << gpu.name;
      EXPECT_GE(fit.residual_high, 0.0) << gpu.name;
      EXPECT_FALSE(fit.source.empty()) << gpu.name;
    }
  }
}

TEST(KernelFitReader, ReportsEveryError) {
  const std::string good = file_text("hardware/profiles/l40s.json");
  EXPECT_EQ(findings(good), "");
  EXPECT_THAT(findings(replaced(good, "half_k", "half_q")), HasSubstr("half_q"));
  EXPECT_THAT(findings(replaced(good, "\"droop\": ", "\"droop\": -")), HasSubstr("droop"));
  EXPECT_THAT(findings(replaced(good, "\"memory_bound\"", "\"memory\"")), HasSubstr("memory_bound"));
  EXPECT_THAT(findings("[]"), HasSubstr("profile"));
  EXPECT_THAT(findings("{}"), HasSubstr("attention_backward"));
}

TEST(KernelFitReader, RelativesAreNearInPowerPerPeakAndArchitecture) {
  const auto from = [](const char* file) { return nearest_profile(sim::gpu_named(file)); };
  EXPECT_TRUE(from("a100-sxm4-80gb").own);
  EXPECT_TRUE(from("a100-pcie-80gb").own);
  EXPECT_EQ(from("a100-sxm4-40gb").gpu, "A100-SXM4-80GB");
  EXPECT_EQ(from("a100-pcie-40gb").gpu, "A100-PCIe-80GB");
  EXPECT_EQ(from("h200-sxm").gpu, "H100-SXM5-80GB");
  EXPECT_EQ(from("h100-pcie-80gb").gpu, "H100-SXM5-80GB");
  EXPECT_EQ(from("v100-sxm2-32gb").gpu, "V100-SXM2-16GB");
  // 2.7 W per TFLOP/s, as a V100; an L40S has 1.0 and lives under its power limit.
  EXPECT_EQ(from("rtx-4090").gpu, "V100-SXM2-16GB");
}

TEST(KernelFitReader, TransfersHaveWiderIntervalsAndSaySo) {
  const Gpu measured = sim::gpu_named("h100-sxm5-80gb"), transferred = sim::gpu_named("h200-sxm");
  for (std::size_t c = 0; c < kKernelClasses; ++c) {
    EXPECT_LT(transferred.fits[c].residual_low, measured.fits[c].residual_low);
    EXPECT_GT(transferred.fits[c].residual_high, measured.fits[c].residual_high);
    EXPECT_EQ(transferred.fits[c].measurements, 0);
    EXPECT_THAT(transferred.fits[c].source, StartsWith("transferred from H100-SXM5-80GB"));
    EXPECT_EQ(transferred.fits[c].peak_fraction, measured.fits[c].peak_fraction);
  }
}

}  // namespace
}  // namespace orrery::hardware
