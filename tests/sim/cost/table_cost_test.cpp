// Kernel times from a table: which point an op finds, what stands in for a kernel that the table lacks,
// overhead and contention, and a table of other dims refused at its place.
#include "sim/cost/table_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/cluster_reader.h"
#include "sim/cost/analytic_cost.h"
#include "tests/base/source_text.h"
#include "tests/schedule/small_program.h"

namespace orrery::sim {
namespace {

using hardware::Precision;
using schedule::Access;
using schedule::OpKind;
using schedule::Phase;
using schedule::Role;
using testing::HasSubstr;

constexpr const char* kTable = R"({
  "provenance": {"machine": "m", "date": "d", "program": "p"},
  "op_overhead": "1 us",
  "busy_ranks": 3,
  "contention": {"compute_bound": 1.2, "memory_bound": 2},
  "kernels": [
    {"name": "add.fp32", "dims": ["elements"], "points": [
      {"dims": [1024], "bytes": 12288, "seconds": 4e-6, "busy_seconds": 5e-6},
      {"dims": [65536], "bytes": 786432, "seconds": 1e-4}]},
    {"name": "gemm_nt.accumulate.fp32", "dims": ["m", "n", "k"], "points": [
      {"dims": [64, 64, 64], "flops": 524288, "bytes": 65536, "seconds": 2e-5}]}
  ]
})";

hardware::Cluster machine(const std::string& table) {
  const std::string text = R"({
    "name": "two ranks", "source": "a test",
    "gpu": {"kind": "cpu", "name": "core", "source": "a test", "dense_peak": {"fp32": "50 GFLOP/s"},
            "memory": "4 GiB", "memory_bandwidth": "10 GB/s", "kernel_table": )" +
                           table + R"(},
    "nodes": 1, "node": {"gpus": 1, "cores": 2,
                         "host": {"memory": "8 GiB", "memory_bandwidth": "20 GB/s", "cpu_vendor": "amd"}},
    "fabric": {"kind": "none"}})";
  Diagnostics diagnostics;
  hardware::Cluster cluster = hardware::read_cluster(test::parsed(text), diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  return cluster;
}

// One op on fp32 buffers of `elements`.
struct OneOp {
  schedule::SmallProgram p;
  explicit OneOp(std::int64_t elements) {
    for (int i = 0; i < 3; ++i)
      p.buffer({.name = "b", .type = schedule::DataType::fp32, .elements = elements});
    p.block("b", {{BufferId(0)}, {BufferId(1)}, {BufferId(2)}});
  }
  KernelTime time(const KernelCost& cost, const schedule::KernelShape& shape = {}) const {
    return cost.time(p.program, p.program.ops.back(), shape);
  }
};

OneOp add_op(std::int64_t elements) {
  OneOp one(elements);
  one.p.op(OpKind::add, Phase::forward,
           {{.formal = 0, .role = Role::x}, {.formal = 1, .role = Role::y, .access = Access::update}});
  return one;
}

OneOp gemm_op(schedule::Access access) {
  OneOp one(64 * 64);
  one.p.op(OpKind::gemm, Phase::backward,
           {{.formal = 0, .role = Role::dy},
            {.formal = 1, .role = Role::x},
            {.formal = 2, .role = Role::dw, .access = access}});
  return one;
}

TEST(TableCost, AMeasuredSizeAndItsOverhead) {
  const TableCost cost(machine(kTable), Precision::fp32, nullptr);
  const KernelTime time = add_op(1024).time(cost);
  EXPECT_EQ(time.origin, Origin::measured);
  EXPECT_EQ(time.time, Duration::from_us(5));
  EXPECT_EQ(add_op(1024).time(cost).time, Duration::from_us(5));  // the second time from what is kept
  EXPECT_TRUE(cost.lacking().empty());
}

TEST(TableCost, ContentionIsForEachOtherKernel) {
  const TableCost cost(machine(kTable), Precision::fp32, nullptr);
  EXPECT_NEAR(add_op(1024).time(cost).contention, 0.25 / 2, 1e-9);  // its own measurement, two others
  const KernelTime product =
      gemm_op(Access::update).time(cost, {.m = 64, .n = 64, .k = 64, .layout = schedule::Layout::nt});
  EXPECT_EQ(product.origin, Origin::measured);
  EXPECT_NEAR(product.contention, 0.2 / 2, 1e-9);  // of its class
}

TEST(TableCost, ASimilarKernelStandsIn) {
  const TableCost cost(machine(kTable), Precision::fp32, nullptr);
  const KernelTime time =
      gemm_op(Access::write).time(cost, {.m = 64, .n = 64, .k = 64, .layout = schedule::Layout::nt});
  EXPECT_EQ(time.origin, Origin::modelled);
  EXPECT_NEAR(time.time.seconds(), 2e-5 + 1e-6, 1e-9);
  EXPECT_GE(time.log_high, 0.3);
  ASSERT_EQ(cost.lacking().size(), 1U);
  EXPECT_EQ(cost.lacking()[0].name, "gemm_nt.fp32");
  EXPECT_EQ(cost.lacking()[0].instead, "gemm_nt.accumulate.fp32");
}

TEST(TableCost, NothingLikeItIsBoundedByThePeaks) {
  const TableCost cost(machine(kTable), Precision::fp32, nullptr);
  OneOp one(1'000'000);
  one.p.op(OpKind::fill, Phase::setup, {{.formal = 0, .role = Role::y, .access = Access::write}});
  const KernelTime time = one.time(cost);
  EXPECT_EQ(time.origin, Origin::modelled);
  EXPECT_NEAR(time.time.seconds(), 4e6 / 10e9 + 1e-6, 1e-9);
  ASSERT_EQ(cost.lacking().size(), 1U);
  EXPECT_THAT(cost.lacking()[0].instead, HasSubstr("peak rates"));
}

TEST(TableCost, WaitsAreFree) {
  const TableCost cost(machine(kTable), Precision::fp32, nullptr);
  OneOp one(1);
  one.p.op(OpKind::host_wait, Phase::optimizer, {});
  EXPECT_EQ(one.time(cost).time, Duration());
}

// A GPU with fits: what the table lacks is modelled as without a table.
TEST(TableCost, FitsStandInOnAGpu) {
  Diagnostics diagnostics;
  hardware::Cluster cluster =
      hardware::read_cluster(test::parsed(R"({"base": "hardware/clusters/dgx-a100-80g.json"})"), diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  const auto fits = make_analytic_cost(cluster, Precision::bf16);
  const OneOp one = add_op(4096);
  const KernelTime modelled = one.time(*fits);
  cluster.gpu.kernel_table = machine(R"({"provenance": {"machine": "m", "date": "d", "program": "p"},
      "op_overhead": "0 us", "kernels": []})")
                                 .gpu.kernel_table;
  const TableCost cost(cluster, Precision::bf16, make_analytic_cost(cluster, Precision::bf16));
  EXPECT_EQ(one.time(cost).time, modelled.time);
  EXPECT_EQ(cost.lacking().size(), 1U);
}

TEST(TableCost, AProductWithTheFlopsOfAnotherIsRefused) {
  for (const char* flops : {"", R"("flops": 1e9, )", R"("flops": 262144, )"}) {
    const hardware::Cluster cluster = machine(std::string(R"({"provenance": {"machine": "m", "date": "d", "program": "p"},
      "op_overhead": "0 us", "kernels": [
      {"name": "gemm_tn.fp32", "dims": ["m", "n", "k"], "points": [{"dims": [64, 64, 64], )") + flops + R"("bytes": 1, "seconds": 1}]}]})");
    try {
      const TableCost cost(cluster, Precision::fp32, nullptr);
      FAIL() << "accepted: " << flops;
    } catch (const InputError& error) {
      EXPECT_THAT(std::string(error.what()), HasSubstr("gemm_tn.fp32 of 64 x 64 x 64 with"));
      EXPECT_THAT(std::string(error.what()), HasSubstr("2 m n k = 524288"));
    }
  }
}

TEST(TableCost, KernelsThatNoOpRunsAreListed) {
  EXPECT_TRUE(TableCost(machine(kTable), Precision::fp32, nullptr).unknown().empty());
  const hardware::Cluster cluster = machine(R"({"provenance": {"machine": "m", "date": "d", "program": "p"},
      "op_overhead": "0 us", "kernels": [
      {"name": "gem_tn.fp32", "dims": ["m", "n", "k"], "points": [{"dims": [1, 2, 3], "bytes": 1, "seconds": 1}]}]})");
  const TableCost cost(cluster, Precision::fp32, nullptr);
  ASSERT_EQ(cost.unknown().size(), 1U);
  EXPECT_EQ(cost.unknown().front()->name, "gem_tn.fp32");
  EXPECT_EQ(cost.unknown().front()->place.line, 6U);
}

TEST(TableCost, OtherDimsAreRefusedAtTheirPlace) {
  const hardware::Cluster cluster = machine(R"({"provenance": {"machine": "m", "date": "d", "program": "p"},
      "op_overhead": "0 us", "kernels": [
      {"name": "add.fp32", "dims": ["rows", "columns"], "points": [{"dims": [1, 2], "bytes": 1, "seconds": 1}]}]})");
  try {
    const TableCost cost(cluster, Precision::fp32, nullptr);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(std::string(error.what()), HasSubstr("add.fp32 is measured by rows, columns"));
    EXPECT_THAT(std::string(error.what()), HasSubstr("test.json:6:7"));
  }
}

}  // namespace
}  // namespace orrery::sim
