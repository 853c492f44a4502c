// Memory-bound kernels: bandwidth as bound, small and L2-resident sizes, measured points.
#include "sim/cost/memory_model.h"

#include <gtest/gtest.h>

#include "tests/sim/cost/gpus.h"

namespace orrery::sim {
namespace {

using hardware::KernelClass;

double seconds(const hardware::Gpu& gpu, double bytes, bool reduces = false) {
  return memory_seconds({bytes, reduces, 1.0}, half_precision(gpu), gpu.fit(KernelClass::memory_bound));
}

TEST(MemoryModel, LargeKernelsFollowBandwidthSmallOnesTheLaunch) {
  for (const hardware::Gpu& gpu : shipped_gpus()) {
    const double rate = 4e9 / seconds(gpu, 4e9) / half_precision(gpu).hbm;
    EXPECT_GT(rate, 0.5) << gpu.name;
    EXPECT_LT(rate, 1.0) << gpu.name;
    EXPECT_LT(seconds(gpu, 2e3), 1.1 * seconds(gpu, 1e3)) << gpu.name;
  }
}

TEST(MemoryModel, GrowsWithBytesAcrossTheCacheSize) {
  for (const hardware::Gpu& gpu : shipped_gpus())
    for (double bytes = 1e3; bytes < 1e9; bytes *= 1.2)
      EXPECT_LT(seconds(gpu, bytes), seconds(gpu, bytes * 1.2)) << gpu.name << " " << bytes;
}

TEST(MemoryModel, HalfTheBandwidthDoublesLargeKernels) {
  for (const hardware::Gpu& gpu : shipped_gpus()) {
    KernelDevice half = half_precision(gpu);
    half.hbm /= 2.0;
    EXPECT_NEAR(memory_seconds({4e9, false, 1.0}, half, gpu.fit(KernelClass::memory_bound)) / seconds(gpu, 4e9), 2.0,
                0.01);
  }
}

TEST(MemoryModel, ReductionsAreSlowerThanStreams) {
  for (const hardware::Gpu& gpu : shipped_gpus()) EXPECT_GT(seconds(gpu, 1e9, true), seconds(gpu, 1e9)) << gpu.name;
}

}  // namespace
}  // namespace orrery::sim
