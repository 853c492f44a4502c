// What is written is read back exactly; what is broken is refused at its place.
#include "schedule/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "base/check.h"
#include "schedule/compile.h"
#include "tests/schedule/small_scenarios.h"
#include "tests/schedule/small_trace.h"

namespace orrery::schedule {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

Trace parsed(const std::string& text, Diagnostics& diagnostics) {
  return parse_trace(std::make_shared<const SourceFile>(SourceFile{"a.trace", text}), diagnostics);
}

std::string errors_of(const std::string& text) {
  Diagnostics diagnostics;
  static_cast<void>(parsed(text, diagnostics));
  return diagnostics.text();
}

Schedule pipeline() { return compile(small_scenario(gpt_style(2), {.pp = 2, .microbatches = 3})); }
Trace small_trace() { return testing::made_up_trace(pipeline(), 2, 3, 1); }

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

struct Folder {
  fs::path path = fs::temp_directory_path() / ("trace-test-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path / name).string(); }
};

TEST(TraceFile, ReadsWhatWasWritten) {
  Trace trace = small_trace();
  Diagnostics diagnostics;
  EXPECT_EQ(parsed(trace_text(trace), diagnostics), trace);
  trace.complete = false;
  trace.origin = TraceOrigin::emulated;
  trace.losses = {std::numeric_limits<double>::infinity(), -1e-300};
  trace.ranks.erase(trace.ranks.begin());
  trace.ranks[0].records.resize(5);
  EXPECT_EQ(parsed(trace_text(trace), diagnostics), trace);
  EXPECT_EQ(diagnostics.text(), "");
}

TEST(TraceFile, RepresentativesStandForOthers) {
  Trace trace = small_trace();
  trace.world = 6;
  trace.representative = {0, 0, 1, 1, 0, 1};
  Diagnostics diagnostics;
  EXPECT_EQ(parsed(trace_text(trace), diagnostics), trace) << diagnostics.text();
  EXPECT_THAT(trace_text(trace), HasSubstr("\"representative\": \"0*2 1 0 -1 1\""));
  trace.representative[3] = 5;
  EXPECT_THAT(errors_of(trace_text(trace)), HasSubstr("rank 5 stands for rank 3, and is not here"));
  trace.representative = {1, 1, 1, 1, 1, 1};
  EXPECT_THAT(errors_of(replaced(trace_text(trace), "\"1 0*5\"", "\"1 9223372036854775807 0*4\"")),
              HasSubstr("a rank beyond 2^63"));
}

TEST(TraceFile, ALossThatIsNoNumberIsKept) {
  Trace trace = small_trace();
  trace.losses = {1.0, std::numeric_limits<double>::quiet_NaN()};
  Diagnostics diagnostics;
  const Trace read = parsed(trace_text(trace), diagnostics);
  ASSERT_EQ(read.losses.size(), 2U);
  EXPECT_TRUE(std::isnan(read.losses[1]));
}

// Three ops that take 5 ns each, one behind the other: a line that can be read aloud.
TEST(TraceFile, ColumnsAreDifferencesAndRuns) {
  Trace trace{.scenario = "s", .world = 1, .first_step = 7, .steps = 2};
  trace.ranks.push_back({.rank = 0, .records = {{7, 0, 0, 0, 5}, {7, 1, 5, 5, 10}, {8, 0, 10, 12, 17}}});
  const std::string text = trace_text(trace);
  EXPECT_THAT(text, HasSubstr(R"("step": "7 0 1")"));
  EXPECT_THAT(text, HasSubstr(R"("op": "0 1 -1")"));
  EXPECT_THAT(text, HasSubstr(R"("ready_ns": "0 5*2")"));
  EXPECT_THAT(text, HasSubstr(R"("wait_ns": "0*2 2")"));
  EXPECT_THAT(text, HasSubstr(R"("duration_ns": "5*3")"));
}

TEST(TraceFile, BrokenFilesAreRefusedAtTheirPlace) {
  Trace trace{.scenario = "s", .world = 1, .first_step = 0, .steps = 1};
  trace.ranks.push_back({.rank = 0, .records = {{0, 0, 0, 0, 5}, {0, 1, 5, 5, 10}}});
  const std::string text = trace_text(trace);
  ASSERT_EQ(errors_of(text), "");
  const auto with = [&](const std::string& what, const std::string& instead) {
    return errors_of(replaced(text, what, instead));
  };
  EXPECT_THAT(errors_of(""), HasSubstr("a.trace:1:1"));
  EXPECT_THAT(errors_of(text.substr(0, text.size() / 2)), HasSubstr("a.trace:"));
  EXPECT_THAT(with("orrery-trace/1", "orrery-trace/9"), HasSubstr("a.trace:2:12: error: this is no trace"));
  EXPECT_THAT(with("\"world\": 1", "\"world\": \"one\""),
              HasSubstr("\"world\" in the trace must be an integer"));
  EXPECT_THAT(with("\"world\": 1", "\"world\": -1"), HasSubstr("out of range"));
  EXPECT_THAT(with("\"world\": 1", "\"world\": 2"), HasSubstr("1 of 2 ranks are here"));
  EXPECT_THAT(with("\"complete\"", "\"compleet\""), HasSubstr("complete"));
  EXPECT_THAT(with("\"records\": 2", "\"records\": 3"), HasSubstr("there are fewer values than records"));
  EXPECT_THAT(with("\"records\": 2", "\"records\": 1"), HasSubstr("there are more values than the 1"));
  EXPECT_THAT(with("\"records\": 2", "\"records\": 99999999999"), HasSubstr("out of range"));
  EXPECT_THAT(with("\"op\": \"0 1\"", "\"op\": \"0 0\""), HasSubstr("op 0 of step 0 follows op 0 of step 0"));
  EXPECT_THAT(with("\"op\": \"0 1\"", "\"op\": \"0 -1\""), HasSubstr("-1 is no op id"));
  EXPECT_THAT(with("\"op\": \"0 1\"", "\"op\": 7"),
              HasSubstr("op must be a string of integers, found an integer"));
  EXPECT_THAT(with("\"step\": \"0*2\"", "\"step\": \"0 1\""), HasSubstr("step 1 is not among the steps"));
  EXPECT_THAT(with("\"wait_ns\": \"0*2\"", "\"wait_ns\": \"0 -2\""),
              HasSubstr("an op began before it was ready"));
  EXPECT_THAT(with("\"duration_ns\": \"5*2\"", "\"duration_ns\": \"5 -5\""),
              HasSubstr("an op ended before it began"));
  EXPECT_THAT(with("\"ready_ns\": \"0 5\"", "\"ready_ns\": \"0 9223372036854775807\""),
              HasSubstr("out of range"));
  EXPECT_THAT(with("\"ready_ns\": \"0 5\"", "\"ready_ns\": \"0 9223372036854775808\""), HasSubstr("64 bits"));
  EXPECT_THAT(with("\"ready_ns\": \"0 5\"", "\"ready_ns\": \"0 5x\""),
              HasSubstr("ready_ns: this is no integer"));
  EXPECT_THAT(with("\"duration_ns\": \"5*2\"", "\"duration_ns\": \"5*0\""), HasSubstr("this count is none"));
  EXPECT_THAT(with("\"fingerprint\": \"0", "\"fingerprint\": \"x"), HasSubstr("16 hexadecimal digits"));
}

TEST(TraceFile, TheCaretStandsUnderTheNumber) {
  Trace trace{.scenario = "s", .world = 1, .first_step = 0, .steps = 1};
  trace.ranks.push_back({.rank = 0, .records = {{0, 0, 0, 0, 5}, {0, 1, 5, 5, 10}}});
  const std::string errors = errors_of(replaced(trace_text(trace), "\"0 5\"", "\"0 oops\""));
  //        "   "ready_ns": "0 oops"": the o is the 19th byte of its line.
  EXPECT_THAT(errors, HasSubstr(":19: error: ready_ns: this is no integer\n"));
  EXPECT_THAT(errors, HasSubstr("\"ready_ns\": \"0 oops\",\n"));
}

TEST(TraceFile, WritingLeavesTheOldFileOrTheNewOne) {
  const Folder folder;
  const std::string path = folder.file("run.trace");
  Trace trace = small_trace();
  write_trace(path, trace);
  EXPECT_EQ(read_trace(path), trace);
  trace.scenario = "another";
  write_trace(path, trace);
  EXPECT_EQ(read_trace(path).scenario, "another");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), {}), 1) << "nothing is left beside it";
  EXPECT_THROW(write_trace(folder.file("no/such/folder.trace"), trace), WorldError);
  EXPECT_THROW(static_cast<void>(read_trace(folder.file("none.trace"))), InputError);
}

TEST(TraceFile, WhatIsNoFileStaysWhatItIs) {
  const Folder folder;
  write_trace("/dev/null", small_trace());
  EXPECT_FALSE(fs::is_regular_file("/dev/null"));
  const std::string link = folder.file("link.trace"), real = folder.file("real.trace");
  write_trace(real, small_trace());
  fs::create_symlink(real, link);
  Trace other = small_trace();
  other.machine = "another";
  write_trace(link, other);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_trace(real).machine, "another");
}

TEST(TraceFile, TwoHundredThousandRecordsAreSmallAndExact) {
  Trace trace{.scenario = "large", .world = 4, .first_step = 1, .steps = 10};
  std::mt19937 random(3);
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    trace.ranks.push_back({.rank = rank});
    std::int64_t now = 0;
    for (std::int32_t step = 1; step <= 10; ++step)
      for (std::uint32_t op = 0; op < 5000; ++op) {
        const std::int64_t begin = now + static_cast<std::int64_t>(random() % 2000);
        trace.ranks.back().records.push_back(
            {step, op, now, begin, begin + static_cast<std::int64_t>(random() % 500'000)});
        now = trace.ranks.back().records.back().end_ns;
      }
  }
  const std::string text = trace_text(trace);
  EXPECT_LT(text.size(), 200'000U * 20);
  Diagnostics diagnostics;
  EXPECT_EQ(parsed(text, diagnostics), trace);
}

TEST(Fingerprint, TellsSchedulesApart) {
  const Plan plan{.pp = 2, .microbatches = 3};
  const Schedule schedule = pipeline();
  EXPECT_EQ(fingerprint(schedule), fingerprint(compile(small_scenario(gpt_style(2), plan))));
  Plan other = plan;
  other.microbatches = 4;
  EXPECT_NE(fingerprint(schedule), fingerprint(compile(small_scenario(gpt_style(2), other))));
  EXPECT_NE(fingerprint(schedule), fingerprint(compile(small_scenario(llama_style(2), plan))));
  Schedule renamed = schedule;
  renamed.hyper.seed += 1;
  EXPECT_NE(fingerprint(schedule), fingerprint(renamed));
}

}  // namespace
}  // namespace orrery::schedule
