// Measured kernel tables: what a file says is what is read, what is written reads back the same, and every mistake is
// reported at its place.
#include "hardware/kernel_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/source_text.h"

namespace orrery::hardware {
namespace {

using testing::HasSubstr;

constexpr const char* kText = R"({
  "provenance": {"machine": "AMD EPYC, 2 cores", "date": "2026-11-30", "program": "orrery-rt 0.1", "options": "--quick",
                 "notes": ["gemm_tn.fp32: 3 outliers"]},
  "op_overhead": "1.5 us",
  "busy_ranks": 2,
  "contention": {"memory_bound": 1.6},
  "kernels": [
    {"name": "gemm_tn.fp32", "dims": ["m", "n", "k"], "points": [
      {"dims": [64, 128, 256], "flops": 4194304, "bytes": 229376, "seconds": 1.3e-4, "p10": 1.2e-4, "p90": 1.5e-4,
       "busy_seconds": 1.4e-4, "samples": 21, "outliers": 2},
      {"dims": [64, 128, 512], "flops": 8388608, "bytes": 425984, "seconds": 2.5e-4}]},
    {"name": "add.fp32", "dims": ["elements"], "points": [{"dims": [4096], "bytes": 49152, "seconds": 5e-6}]}
  ]
})";

KernelTable read(const std::string& text) {
  Diagnostics diagnostics;
  KernelTable table = read_kernel_table(test::parsed(text), diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  return table;
}

std::string errors_with(const std::string& from, const std::string& to) {
  std::string text = kText;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  Diagnostics diagnostics;
  static_cast<void>(read_kernel_table(test::parsed(text), diagnostics));
  return diagnostics.text();
}

TEST(KernelTable, ReadsWhatTheFileSays) {
  const KernelTable table = read(kText);
  EXPECT_EQ(table.provenance.machine, "AMD EPYC, 2 cores");
  EXPECT_EQ(words(table.provenance), "AMD EPYC, 2 cores; 2026-11-30; orrery-rt 0.1 --quick");
  EXPECT_EQ(table.op_overhead, Duration::from_ps(1'500'000));
  EXPECT_EQ(table.busy_ranks, 2);
  EXPECT_EQ(table.contention, (Contention{.compute_bound = 1.0, .memory_bound = 1.6}));
  ASSERT_EQ(table.kernels.size(), 2U);
  const KernelPoint& point = table.kernels[0].points[0];
  EXPECT_EQ(point.dims, (std::array<std::int64_t, kMaxTableDims>{64, 128, 256, 0, 0}));
  EXPECT_DOUBLE_EQ(point.p90, 1.5e-4);
  EXPECT_DOUBLE_EQ(point.busy_seconds, 1.4e-4);
  EXPECT_EQ(point.outliers, 2);
  EXPECT_DOUBLE_EQ(table.kernels[0].points[1].p10, 2.5e-4);  // without percentiles: the median
  EXPECT_EQ(table.kernels[1].dims, std::vector<std::string>{"elements"});
}

TEST(KernelTable, WhatIsWrittenReadsBackTheSame) {
  const KernelTable table = read(kText);
  EXPECT_EQ(read(kernel_table_json(table)), table);
  KernelTable empty;
  empty.provenance.notes = {"a \"quoted\" note\n"};
  EXPECT_EQ(read(kernel_table_json(empty)), empty);
}

TEST(KernelTable, MistakesHavePlaces) {
  EXPECT_THAT(errors_with("[64, 128, 512]", "[64, 128]"), HasSubstr("test.json:11:16: error: dims of a point"));
  EXPECT_THAT(errors_with("[64, 128, 512]", "[64, 0, 512]"), HasSubstr("n of gemm_tn.fp32 is no size"));
  EXPECT_THAT(errors_with("[64, 128, 512]", "[64, 128, 256]"), HasSubstr("test.json:11:7: error: this size"));
  EXPECT_THAT(errors_with("\"p10\": 1.2e-4", "\"p10\": 1.4e-4"), HasSubstr("p10 <= seconds <= p90"));
  EXPECT_THAT(errors_with("add.fp32", "gemm_tn.fp32"), HasSubstr("a second kernel is called 'gemm_tn.fp32'"));
  EXPECT_THAT(errors_with("\"seconds\": 5e-6", "\"seconds\": 0"), HasSubstr("out of range"));
  EXPECT_THAT(errors_with("\"samples\"", "\"sampels\""), HasSubstr("did you mean \"samples\""));
  EXPECT_THAT(errors_with("\"1.5 us\"", "1.5"), HasSubstr("has no unit"));
  EXPECT_THAT(errors_with("[\"elements\"]", "[]"), HasSubstr("dims must name"));
  EXPECT_THAT(errors_with("\"busy_seconds\": 1.4e-4", "\"busy_seconds\": 0.2"), HasSubstr("at most 1000 x seconds"));
  EXPECT_THAT(errors_with("\"memory_bound\": 1.6", "\"memory_bound\": 0.5"), HasSubstr("out of range"));
}

}  // namespace
}  // namespace orrery::hardware
