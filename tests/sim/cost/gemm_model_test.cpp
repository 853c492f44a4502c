// GEMM kernels alone: roofline and peak as bounds, tiles and waves, measured points.
#include "sim/cost/gemm_model.h"

#include <gtest/gtest.h>

#include "tests/sim/cost/gpus.h"

namespace orrery::sim {
namespace {

using hardware::KernelClass;

GemmCall bf16_gemm(double m, double n, double k) {
  GemmCall call;
  call.m = m;
  call.n = n;
  call.k = k;
  call.bytes = 2.0 * (m * k + k * n + m * n);
  return call;
}

double seconds(const hardware::Gpu& gpu, const GemmCall& call, Clock clock = Clock::sustained) {
  return gemm_seconds(call, half_precision(gpu), gpu.fit(KernelClass::gemm), clock);
}

const std::vector<double> kSizes = {1, 64, 127, 128, 129, 512, 1000, 2048, 5120, 12288, 50257};

TEST(GemmModel, GrowsWithRowsAndColumns) {
  for (const hardware::Gpu& gpu : shipped_gpus())
    for (const double k : {128.0, 1024.0, 8192.0})
      for (const double other : {256.0, 4096.0})
        for (std::size_t i = 1; i < kSizes.size(); ++i) {
          EXPECT_LE(seconds(gpu, bf16_gemm(kSizes[i - 1], other, k)), seconds(gpu, bf16_gemm(kSizes[i], other, k)))
              << gpu.name << " m " << kSizes[i] << " k " << k;
          EXPECT_LE(seconds(gpu, bf16_gemm(other, kSizes[i - 1], k)), seconds(gpu, bf16_gemm(other, kSizes[i], k)))
              << gpu.name << " n " << kSizes[i] << " k " << k;
        }
}

// A longer K may allow a split that a shorter one did not: within the few SM waves of a small product, no further.
TEST(GemmModel, GrowsWithKWhereTheMachineIsFull) {
  for (const hardware::Gpu& gpu : shipped_gpus())
    for (std::size_t i = 1; i < kSizes.size(); ++i)
      EXPECT_LE(seconds(gpu, bf16_gemm(8192, 8192, kSizes[i - 1])), seconds(gpu, bf16_gemm(8192, 8192, kSizes[i])))
          << gpu.name << " k " << kSizes[i];
}

TEST(GemmModel, NeverBeatsPeakOrMemory) {
  for (const hardware::Gpu& gpu : shipped_gpus())
    for (const double m : kSizes)
      for (const double n : kSizes)
        for (const double k : kSizes)
          for (const Clock clock : {Clock::alone, Clock::sustained}) {
            const GemmCall call = bf16_gemm(m, n, k);
            const double t = seconds(gpu, call, clock);
            EXPECT_GE(t, 2.0 * m * n * k / half_precision(gpu).peak) << gpu.name;
            EXPECT_GE(t, call.bytes / half_precision(gpu).hbm) << gpu.name;
          }
}

TEST(GemmModel, HalfThePeakSlowsComputeBoundOnly) {
  for (const hardware::Gpu& gpu : shipped_gpus()) {
    KernelDevice half = half_precision(gpu);
    half.peak /= 2.0;
    const hardware::KernelFit& fit = gpu.fit(KernelClass::gemm);
    const GemmCall large = bf16_gemm(8192, 8192, 8192), thin = bf16_gemm(64, 8192, 8192);
    EXPECT_GT(gemm_seconds(large, half, fit, Clock::sustained), 1.9 * seconds(gpu, large)) << gpu.name;
    EXPECT_LT(gemm_seconds(thin, half, fit, Clock::sustained), 1.7 * seconds(gpu, thin)) << gpu.name;
  }
}

TEST(GemmModel, HalfTheMemoryBandwidthSlowsMemoryBound) {
  for (const hardware::Gpu& gpu : shipped_gpus()) {
    KernelDevice half = half_precision(gpu);
    half.hbm /= 2.0;
    const hardware::KernelFit& fit = gpu.fit(KernelClass::gemm);
    const GemmCall outer = bf16_gemm(16384, 16384, 16);  // an outer product writes far more than it computes
    EXPECT_GT(gemm_seconds(outer, half, fit, Clock::sustained), 1.3 * seconds(gpu, outer)) << gpu.name;
    const GemmCall large = bf16_gemm(8192, 8192, 8192);
    EXPECT_LT(gemm_seconds(large, half, fit, Clock::sustained), 1.1 * seconds(gpu, large)) << gpu.name;
  }
}

// A100, 108 SMs, 128 x 256 tiles on m = 27 x 128: n = 4 x 256 fills one wave exactly; one column more opens a second.
TEST(GemmModel, ColumnsBeyondAFullWaveCostAlmostAWave) {
  const hardware::Gpu gpu = gpu_named("a100-sxm4-80gb");
  const double full = seconds(gpu, bf16_gemm(27 * 128, 4 * 256, 4096));
  EXPECT_GT(seconds(gpu, bf16_gemm(27 * 128, 4 * 256 + 1, 4096)), 1.2 * full);
  EXPECT_LT(seconds(gpu, bf16_gemm(27 * 128, 4 * 256 - 60, 4096)), 1.001 * full);
  EXPECT_GT(seconds(gpu, bf16_gemm(27 * 128, 4 * 256 - 60, 4096)), 0.97 * full);  // the same tiles
}

TEST(GemmModel, SmallKIsTheStrongestPenalty) {
  const hardware::Gpu gpu = gpu_named("a100-sxm4-80gb");
  const auto share = [&](double m, double n, double k) {
    return 2.0 * m * n * k / seconds(gpu, bf16_gemm(m, n, k), Clock::alone) / half_precision(gpu).peak;
  };
  // Measured medians: 0.79 with all dimensions >= 4096, 0.64 at K = 512, 0.27 at K = 128.
  EXPECT_NEAR(share(8192, 8192, 8192), 0.79, 0.06);
  EXPECT_NEAR(share(8192, 8192, 512), 0.64, 0.10);
  EXPECT_NEAR(share(8192, 8192, 128), 0.27, 0.10);
}

TEST(GemmModel, SustainedIsSlowerThanAlone) {
  for (const hardware::Gpu& gpu : shipped_gpus()) {
    const GemmCall call = bf16_gemm(1024, 4096, 4096);
    EXPECT_GT(seconds(gpu, call, Clock::sustained), seconds(gpu, call, Clock::alone)) << gpu.name;
  }
}

}  // namespace
}  // namespace orrery::sim
