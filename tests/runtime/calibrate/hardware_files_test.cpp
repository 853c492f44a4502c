// What is written is what was measured, and the readers of hardware files take it.
#include "runtime/calibrate/hardware_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "base/diagnostics.h"
#include "hardware/cluster_reader.h"
#include "tests/runtime/calibrate/scratch_directory.h"

namespace orrery::runtime {
namespace {

schedule::KernelKey key(const std::string& name, std::vector<std::int64_t> dims, double flops, double bytes) {
  schedule::KernelKey k{.name = name, .flops = flops, .bytes = bytes};
  for (const std::int64_t d : dims) k.dims[k.dim_count++] = d;
  return k;
}

KernelCatalog some_kernels() {
  KernelCatalog catalog;
  const auto add = [&](schedule::KernelKey k, double alone, double busy) {
    TimedKernel& kernel = catalog[catalog.add(std::move(k))];
    for (int i = 0; i < 5; ++i) {
      kernel.alone.add(alone * (1.0 + 0.01 * i), false);
      kernel.busy.add(busy * (1.0 + 0.01 * i), false);
    }
    kernel.busy.add(1.0, true);
  };
  add(key("gemm_tn.fp32", {64, 64, 64}, 524288, 49152), 50e-6, 55e-6);
  add(key("gemm_tn.fp32", {32, 64, 64}, 262144, 32768), 25e-6, 27.5e-6);
  add(key("add.fp32", {65536}, 0, 786432), 60e-6, 90e-6);
  add(key("fill.fp32", {1}, 0, 4), 2e-7, 1e-7);  // noise: slower alone
  catalog.add(key("add.fp32", {7}, 0, 84));      // never measured
  return catalog;
}

Calibration calibration(std::int64_t ranks) {
  Calibration c{.name = "here", .ranks = ranks, .busy_ranks = ranks};
  c.machine.processor = "Test \"CPU\"";
  c.machine.cores = 2;
  c.machine.memory_bytes = std::int64_t{8} << 30;
  c.numbers = {.ceilings = {100e9, 90e9, 80e9, 10e9, 7e9}, .op_overhead_s = 5e-8};
  c.kernels.provenance = c.transfers.provenance = {
      .machine = "Test", .date = "2026-11-30", .program = "test", .options = "", .notes = {"a note"}};
  c.kernels.kernels = measured_kernels(some_kernels(), ranks);
  c.kernels.op_overhead = Duration::from_seconds_up(c.numbers.op_overhead_s);
  c.kernels.busy_ranks = ranks;
  c.kernels.contention = contention_of(c.kernels.kernels);
  std::map<Exchange, TransferPhase::Curve> curves;
  TransferPhase::Curve& curve = curves[{hardware::TransferOperation::all_reduce, 2}];
  for (const std::int64_t bytes : {64, 4096})
    for (int i = 0; i < 5; ++i) curve.points[bytes].add(1e-6 * static_cast<double>(bytes + i), false);
  curve.cores_sum = 1.6;
  curve.visits = 2;
  curves[{hardware::TransferOperation::broadcast, 2}];  // asked for and not measured
  c.transfers.curves = measured_curves(curves);
  return c;
}

TEST(MeasuredKernels, HoldMediansByNameAndSize) {
  const auto kernels = measured_kernels(some_kernels(), 2);
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_EQ(kernels[0].name, "add.fp32");
  ASSERT_EQ(kernels[0].points.size(), 1U);
  EXPECT_THAT(kernels[0].dims, testing::ElementsAre("elements"));
  EXPECT_NEAR(kernels[0].points[0].seconds, 60e-6 * 1.02, 1e-9);
  EXPECT_NEAR(kernels[0].points[0].busy_seconds, 90e-6 * 1.02, 1e-9);
  EXPECT_EQ(kernels[0].points[0].samples, 10);
  EXPECT_EQ(kernels[0].points[0].outliers, 1);
  EXPECT_EQ(kernels[1].points[0].seconds, kernels[1].points[0].busy_seconds);  // of the two, the shorter
  EXPECT_EQ(kernels[2].points[0].dims[0], 32);                                 // sorted
}

TEST(MeasuredKernels, OfOneRankAreNotBusy) {
  for (const hardware::MeasuredKernel& kernel : measured_kernels(some_kernels(), 1))
    for (const hardware::KernelPoint& p : kernel.points) EXPECT_EQ(p.busy_seconds, 0.0);
}

TEST(Contention, IsByWhatBoundsAKernel) {
  const hardware::Contention c = contention_of(measured_kernels(some_kernels(), 2));
  EXPECT_NEAR(c.compute_bound, 1.1, 1e-3);
  EXPECT_NEAR(c.memory_bound, 1.5, 1e-3);
}

TEST(HardwareFiles, AreReadBackAsTheyWere) {
  const ScratchDirectory directory;
  const Calibration c = calibration(2);
  write_files(directory.path(), hardware_files(c));
  Diagnostics diagnostics;
  const hardware::Cluster cluster =
      hardware::read_cluster(read_json(directory.file("here.json")), diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.text();
  EXPECT_EQ(cluster.gpus(), 2);
  EXPECT_EQ(cluster.node.cores, 2);
  EXPECT_EQ(cluster.gpu.kind, hardware::DeviceKind::cpu);
  EXPECT_NEAR(cluster.gpu.peak(hardware::Precision::fp32).value(), 100e9, 1e6);
  EXPECT_NEAR(cluster.gpu.memory_bandwidth.value(), 10e9, 1e6);
  EXPECT_EQ(cluster.gpu.memory.count(), std::int64_t{4} << 30);
  ASSERT_NE(cluster.gpu.kernel_table, nullptr);
  ASSERT_NE(cluster.transfers, nullptr);
  EXPECT_EQ(*cluster.gpu.kernel_table, c.kernels);
  EXPECT_EQ(*cluster.transfers, c.transfers);
  ASSERT_EQ(cluster.transfers->curves.size(), 1U);
  EXPECT_DOUBLE_EQ(cluster.transfers->curves.front().cores, 0.8);
}

TEST(HardwareFiles, OneRankHasNoTransfers) {
  const ScratchDirectory directory;
  write_files(directory.path(), hardware_files(calibration(1)));
  Diagnostics diagnostics;
  const hardware::Cluster cluster =
      hardware::read_cluster(read_json(directory.file("here.json")), diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.text();
  EXPECT_EQ(cluster.transfers, nullptr);
  EXPECT_FALSE(std::filesystem::exists(directory.file("here.transfers.json")));
}

TEST(HardwareFiles, AnOldFileIsReplacedWhollyOrNotAtAll) {
  const ScratchDirectory directory;
  directory.write("a.json", "old");
  write_files(directory.path(), {{"a.json", "new"}});
  EXPECT_EQ(directory.read("a.json"), "new");
  EXPECT_FALSE(std::filesystem::exists(directory.file("a.json.new")));
  std::filesystem::create_directory(directory.file("b.json"));  // cannot be replaced by a file
  EXPECT_THROW(write_files(directory.path(), {{"b.json", "new"}}), WorldError);
}

}  // namespace
}  // namespace orrery::runtime
