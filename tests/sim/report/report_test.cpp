// Every report: golden transcripts of a known result, width, and the small texts they are made of.
#include <gtest/gtest.h>

#include <sstream>

#include "sim/metrics/predict.h"
#include "sim/report/compare_report.h"
#include "sim/report/csv_result.h"
#include "sim/report/explain.h"
#include "sim/report/measured_rows.h"
#include "sim/report/progress.h"
#include "sim/report/run_cost.h"
#include "sim/report/run_report.h"
#include "sim/report/text_layout.h"
#include "tests/sim/report/known_result.h"
#include "tests/sim/report/transcript.h"

namespace orrery::sim {
namespace {

using testing::expect_transcript;
using testing::known_result;
using testing::known_scenario;

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, text_width(line));
  return widest;
}

TEST(RunReport, Transcript) { expect_transcript("run.txt", run_report(known_scenario(), known_result())); }

TEST(RunReport, TranscriptOfARunThatDoesNotFit) {
  Result r = known_result();
  r.capacity = Bytes(42'000'000'000);
  r.verdict = r.device_verdict = Verdict::does_not_fit;
  r.warnings.front().severity = Severity::error;
  expect_transcript("run_does_not_fit.txt", run_report(known_scenario(), r));
}

TEST(Explain, Transcript) { expect_transcript("explain.txt", explain(known_scenario(), known_result())); }

TEST(CompareReport, Transcript) {
  const scenarios::Scenario s = known_scenario();
  const Result a = known_result();
  Result b = known_result();
  b.scenario = "Another run with a longer name than fits";
  b.step_time_s = {4.0, 3.5, 4.6};
  const std::vector<Compared> columns{{&s, &a}, {&s, &b}};
  expect_transcript("compare.txt", compare_report(columns));
}

TEST(Reports, StayWithin100Columns) {
  for (const char* path : {"scenarios/quickstart.json", "scenarios/p4d.json",
                           "scenarios/korthikanti/22b-present.json", "scenarios/175b-8xa100-40g.json"}) {
    const scenarios::Scenario s = scenarios::read_scenario(path);
    const Result r = predict(s).result;
    EXPECT_LE(widest_line(run_report(s, r)), kColumns) << path;
    EXPECT_LE(widest_line(explain(s, r)), kColumns) << path;
    const std::vector<Compared> columns{{&s, &r}, {&s, &r}, {&s, &r}, {&s, &r}};
    EXPECT_LE(widest_line(compare_report(columns)), kColumns) << path;
  }
}

TEST(RunReport, SaysTheVerdictAndTheWorstRank) {
  const scenarios::Scenario s = scenarios::read_scenario("scenarios/175b-8xa100-40g.json");
  const std::string text = run_report(s, predict(s).result);
  EXPECT_NE(text.find("DOES NOT FIT: rank 0 (stage0) uses"), std::string::npos);
  EXPECT_NE(text.find("too much"), std::string::npos);
  EXPECT_NE(text.find("try: "), std::string::npos);
  EXPECT_NE(text.find("at scenarios/175b-8xa100-40g.json:"), std::string::npos);
}

// A share whose meaning the source does not state is shown against both.
TEST(MeasuredRows, ACommunicationShareIsShownAgainstBothMeanings) {
  const std::vector<MeasuredRow> rows = measured_rows(known_scenario(), known_result());
  std::vector<double> predicted;
  for (const MeasuredRow& row : rows)
    if (row.what.find("communication") != std::string::npos) predicted.push_back(row.predicted);
  EXPECT_EQ(predicted, (std::vector<double>{0.25, 0.175}));
  EXPECT_DOUBLE_EQ(rows.front().error(), 2.0 / 2.5 - 1.0);
}

TEST(CsvResult, RowHasAFieldForEveryColumn) {
  const auto fields = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  EXPECT_EQ(fields(csv_header()), fields(csv_row(known_scenario(), known_result())));
  EXPECT_EQ(csv_header().substr(0, 23), "scenario,plan,gpus,verd");
}

TEST(CsvResult, QuotesWhatWouldBreakTheRow) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a, b"), "\"a, b\"");
  EXPECT_EQ(csv_field("say \"no\""), "\"say \"\"no\"\"\"");
}

TEST(TextLayout, NumbersHaveThreeDigits) {
  EXPECT_EQ(number_text(0.0), "0");
  EXPECT_EQ(number_text(0.012345), "0.0123");
  EXPECT_EQ(number_text(1.0), "1.00");
  EXPECT_EQ(number_text(12.345), "12.3");
  EXPECT_EQ(number_text(123.45), "123");
  EXPECT_EQ(number_text(1234567.0), "1,234,567");
  EXPECT_EQ(number_text(-1234.0), "-1,234");
}

TEST(TextLayout, BarsShowEverythingThatIsThere) {
  EXPECT_EQ(bar(0.0, 10), "");
  EXPECT_EQ(bar(0.001, 10), "#");
  EXPECT_EQ(bar(0.5, 10), "#####");
  EXPECT_EQ(bar(7.0, 10), "##########");
}

TEST(TextLayout, LongWordsAreNotLost) {
  const std::string word(150, 'x');
  EXPECT_EQ(wrapped("a " + word + " b", "> "), "> a\n  " + word + "\n  b\n");
}

TEST(TextLayout, WidthsCountCharacters) {
  EXPECT_EQ(text_width("a\xc3\xbc"), 2U);
  EXPECT_EQ(padded("\xc3\xbc", 3), "\xc3\xbc  ");
}

TEST(ProgressLine, ShowsDoneAndLeft) {
  EXPECT_EQ(progress_line("sweep", 10, 40, 2.0),
            "sweep  [=======                       ]  10/40  about 6.00 s left");
  EXPECT_EQ(progress_line("sweep", 40, 40, 2.0), "sweep  [==============================]  40/40");
  EXPECT_EQ(progress_line("sweep", 0, 0, 0.0), "sweep  [                              ]  0/0");
}

TEST(RunCost, IsWhatThisProcessUsed) {
  Result r;
  fill_run_cost(r, std::chrono::steady_clock::now());
  EXPECT_GE(r.wall_s, 0.0);
  EXPECT_GT(r.peak_rss_bytes, 1'000'000);
}

}  // namespace
}  // namespace orrery::sim
