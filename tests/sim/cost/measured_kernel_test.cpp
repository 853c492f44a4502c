// One measured kernel: points exactly, sizes between them within a few per cent of a law that the table was
// made from, sizes far outside by the baseline, with honest spreads.
#include "sim/cost/measured_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace orrery::sim {
namespace {

using Dims = std::array<std::int64_t, hardware::kMaxTableDims>;

// A product on one core: 60 GFLOP/s that short rows do not reach, packing at 8 GB/s, a little to start with.
double product_seconds(const Dims& d) {
  const auto m = static_cast<double>(d[0]), n = static_cast<double>(d[1]), k = static_cast<double>(d[2]);
  const double rate = 60e9 * (k / (k + 40.0)) * (n / (n + 12.0)) * (m / (m + 20.0));
  return 2e-6 + 2.0 * m * n * k / rate + 4.0 * (m * k + n * k + m * n) / 8e9;
}

KernelSize product_size(std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto flops = static_cast<double>(2 * m * n * k),
             bytes = static_cast<double>(4 * (m * k + n * k + m * n));
  return {{m, n, k}, flops, bytes};
}

hardware::KernelPoint point_of(const KernelSize& size, double seconds) {
  hardware::KernelPoint p;
  p.dims = size.dims;
  p.flops = size.flops;
  p.bytes = size.bytes;
  p.seconds = seconds;
  p.p10 = 0.97 * seconds;
  p.p90 = 1.1 * seconds;
  return p;
}

hardware::MeasuredKernel product_table() {
  hardware::MeasuredKernel kernel;
  kernel.name = "gemm_tn.fp32";
  kernel.dims = {"m", "n", "k"};
  for (const std::int64_t m : {32, 128, 512, 2048})
    for (const std::int64_t n : {32, 128, 512, 2048})
      for (const std::int64_t k : {32, 128, 512, 2048}) {
        const KernelSize size = product_size(m, n, k);
        kernel.points.push_back(point_of(size, product_seconds(size.dims)));
      }
  return kernel;
}

TEST(MeasuredKernel, AMeasuredSizeIsItsMedian) {
  const hardware::MeasuredKernel table = product_table();
  const KernelEstimate e = MeasuredKernel(table).at(product_size(128, 512, 32));
  EXPECT_EQ(e.origin, Origin::measured);
  EXPECT_DOUBLE_EQ(e.seconds, product_seconds({128, 512, 32}));
  EXPECT_NEAR(e.log_low, std::log(0.97), 1e-12);
  EXPECT_NEAR(e.log_high, std::log(1.1), 1e-12);
}

TEST(MeasuredKernel, SizesBetweenAreWithinAFewPerCent) {
  const hardware::MeasuredKernel table = product_table();
  const MeasuredKernel kernel(table);
  std::vector<double> errors;
  int covered = 0;
  for (const std::int64_t m : {48, 200, 768, 1500})
    for (const std::int64_t n : {50, 96, 384, 1536})
      for (const std::int64_t k : {64, 256, 700, 1024}) {
        const KernelSize size = product_size(m, n, k);
        const KernelEstimate e = kernel.at(size);
        EXPECT_EQ(e.origin, Origin::interpolated);
        errors.push_back(std::log(product_seconds(size.dims) / e.seconds));
        covered += errors.back() >= e.log_low && errors.back() <= e.log_high ? 1 : 0;
      }
  const auto by_size = [](double a, double b) { return std::abs(a) < std::abs(b); };
  std::sort(errors.begin(), errors.end(), by_size);
  EXPECT_LT(std::abs(errors[errors.size() / 2]), 0.02);
  EXPECT_LT(std::abs(errors.back()), 0.08);
  EXPECT_GT(covered, static_cast<int>(errors.size()) * 7 / 10);  // an 80 % interval, made from other points
}

TEST(MeasuredKernel, TimesGrowWithEveryDimension) {
  const hardware::MeasuredKernel table = product_table();
  const MeasuredKernel kernel(table);
  for (std::size_t d = 0; d < 3; ++d) {
    double last = 0.0;
    for (std::int64_t x = 8; x <= 16384; x += std::max<std::int64_t>(1, x / 8)) {
      Dims dims = {300, 300, 300};
      dims[d] = x;
      const double now = kernel.at(product_size(dims[0], dims[1], dims[2])).seconds;
      EXPECT_GT(now, last) << d << " " << x;
      last = now;
    }
  }
}

TEST(MeasuredKernel, FarOutsideTheBaselineDecides) {
  const hardware::MeasuredKernel table = product_table();
  const MeasuredKernel kernel(table);
  const KernelSize near = product_size(2048, 2048, 4096), far = product_size(65536, 16384, 16384);
  const KernelEstimate a = kernel.at(near), b = kernel.at(far);
  EXPECT_EQ(a.origin, Origin::modelled);
  EXPECT_NEAR(a.seconds / product_seconds(near.dims), 1.0, 0.05);
  EXPECT_NEAR(b.seconds / kernel.baseline().seconds(far.flops, far.bytes), 1.0, 0.01);
  EXPECT_GT(b.log_high, a.log_high);
  EXPECT_GT(a.log_high, kernel.at(product_size(300, 300, 300)).log_high);
}

TEST(MeasuredKernel, AFewPointsOfAStreamAreARate) {
  hardware::MeasuredKernel table;
  table.name = "add.fp32";
  table.dims = {"elements"};
  for (const std::int64_t n : {1000, 100000, 10000000}) {
    const auto bytes = static_cast<double>(12 * n);
    table.points.push_back(point_of({{n}, 0.0, bytes}, 1e-6 + bytes / 9e9));
  }
  const MeasuredKernel kernel(table);
  const KernelEstimate e = kernel.at({{40000}, 0.0, 480000.0});
  EXPECT_NEAR(e.seconds / (1e-6 + 480000.0 / 9e9), 1.0, 0.03);
  EXPECT_EQ(e.origin, Origin::interpolated);
  EXPECT_LE(e.log_low, -0.3);  // three points say little about the spread
}

TEST(MeasuredKernel, BusyTimesAreInterpolatedToo) {
  hardware::MeasuredKernel table;
  table.name = "add.fp32";
  table.dims = {"elements"};
  for (const std::int64_t n : {1000, 10000, 1000000, 10000000}) {
    const auto bytes = static_cast<double>(12 * n);
    table.points.push_back(point_of({{n}, 0.0, bytes}, bytes / 9e9));
    table.points.back().busy_seconds =
        bytes / 9e9 * (n < 100000 ? 1.0 : 1.9);  // in the cache; in shared memory
  }
  const MeasuredKernel kernel(table);
  EXPECT_DOUBLE_EQ(kernel.at({{1000}, 0.0, 12000.0}).busy_factor, 1.0);
  EXPECT_DOUBLE_EQ(kernel.at({{1000000}, 0.0, 12e6}).busy_factor, 1.9);
  const double between = kernel.at({{100000}, 0.0, 12e5}).busy_factor;
  EXPECT_GT(between, 1.2);
  EXPECT_LT(between, 1.7);
}

// Whatever a reader accepts: sizes, work and times that have nothing to do with each other.
TEST(MeasuredKernel, AnyTableGivesFiniteTimes) {
  std::mt19937 random(11);
  const auto uniform = [&] { return static_cast<double>(random()) / 4294967296.0; };
  const auto scaled = [&](double least, double most) { return least * std::pow(most / least, uniform()); };
  for (int round = 0; round < 300; ++round) {
    hardware::MeasuredKernel table;
    table.name = "gemm_tn.fp32";
    table.dims = {"m", "n", "k"};
    const auto count = static_cast<std::size_t>(1 + 40 * uniform() * uniform());
    const auto any = [&] {
      const auto dim = [&] { return static_cast<std::int64_t>(scaled(1.0, 1e15)); };
      return KernelSize{{dim(), dim(), dim()},
                        uniform() < 0.3 ? 0.0 : scaled(1.0, 1e24),
                        uniform() < 0.3 ? 0.0 : scaled(1.0, 1e18)};
    };
    for (std::size_t i = 0; i < count; ++i) {
      table.points.push_back(point_of(any(), scaled(1e-9, 1e6)));
      if (uniform() < 0.3) table.points.back().busy_seconds = scaled(1e-9, 1e6);
    }
    const MeasuredKernel kernel(table);
    for (int i = 0; i < 10; ++i) {
      const KernelEstimate e = kernel.at(any());
      EXPECT_TRUE(std::isfinite(e.seconds) && e.seconds > 0.0) << round;
      EXPECT_TRUE(std::isfinite(e.log_low) && std::isfinite(e.log_high) && e.log_low <= 0.0 &&
                  e.log_high >= 0.0)
          << round;
      EXPECT_TRUE(std::isfinite(e.busy_factor)) << round;
    }
  }
}

}  // namespace
}  // namespace orrery::sim
