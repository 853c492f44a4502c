// Measured transfer curves: what a file says is what is read, what is written reads back the same, and every mistake is
// reported at its place.
#include "hardware/transfer_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/source_text.h"

namespace orrery::hardware {
namespace {

using testing::HasSubstr;

constexpr const char* kText = R"({
  "provenance": {"machine": "two cores", "date": "2026-11-30", "program": "orrery-rt 0.1"},
  "curves": [
    {"operation": "all_reduce", "ranks": 2, "placement": "one_node", "cores": 0.9, "points": [
      {"bytes": 1024, "seconds": 8e-6, "p10": 7e-6, "p90": 1.1e-5, "samples": 20, "outliers": 1},
      {"bytes": 1048576, "seconds": 4.1e-4}]},
    {"operation": "send_recv", "ranks": 2, "placement": "across_nodes", "points": [{"bytes": 64, "seconds": 3e-5}]}
  ]
})";

TransferTable read(const std::string& text) {
  Diagnostics diagnostics;
  TransferTable table = read_transfer_table(test::parsed(text), diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  return table;
}

std::string errors_with(const std::string& from, const std::string& to) {
  std::string text = kText;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  Diagnostics diagnostics;
  static_cast<void>(read_transfer_table(test::parsed(text), diagnostics));
  return diagnostics.text();
}

TEST(TransferTable, ReadsWhatTheFileSays) {
  const TransferTable table = read(kText);
  ASSERT_EQ(table.curves.size(), 2U);
  const TransferCurve& reduce = table.curves[0];
  EXPECT_EQ(reduce.operation, TransferOperation::all_reduce);
  EXPECT_EQ(reduce.placement, TransferPlacement::one_node);
  EXPECT_DOUBLE_EQ(reduce.cores, 0.9);
  ASSERT_EQ(reduce.points.size(), 2U);
  EXPECT_EQ(reduce.points[0], (TransferPoint{1024, 8e-6, 7e-6, 1.1e-5, 20, 1}));
  EXPECT_DOUBLE_EQ(reduce.points[1].p90, 4.1e-4);
  EXPECT_EQ(table.curves[1].placement, TransferPlacement::across_nodes);
}

TEST(TransferTable, WhatIsWrittenReadsBackTheSame) {
  const TransferTable table = read(kText);
  EXPECT_EQ(read(transfer_table_json(table)), table);
}

TEST(TransferTable, MistakesHavePlaces) {
  EXPECT_THAT(errors_with("1048576", "1024"), HasSubstr("test.json:6:7: error: 1024 bytes after 1024"));
  EXPECT_THAT(errors_with("\"send_recv\", \"ranks\": 2", "\"send_recv\", \"ranks\": 4"),
              HasSubstr("test.json:7:41: error: send_recv among 4 ranks"));
  EXPECT_THAT(errors_with("\"send_recv\"", "\"sendrecv\""), HasSubstr("did you mean \"send_recv\""));
  EXPECT_THAT(errors_with("\"send_recv\", \"ranks\": 2, \"placement\": \"across_nodes\"",
                          "\"all_reduce\", \"ranks\": 2, \"placement\": \"one_node\""),
              HasSubstr("a second curve of all_reduce among 2 ranks, one_node"));
  EXPECT_THAT(errors_with("0.9", "1.9"), HasSubstr("out of range"));
  EXPECT_THAT(errors_with("8e-6", "\"8 us\""), HasSubstr("must be a number"));
  EXPECT_THAT(errors_with("[{\"bytes\": 64, \"seconds\": 3e-5}]", "[]"), HasSubstr("a curve without points"));
}

}  // namespace
}  // namespace orrery::hardware
