// What is refused before the first rank starts: too much memory, and outputs that cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/check.h"
#include "base/diagnostics.h"
#include "runtime/run/memory_check.h"
#include "runtime/run/output_check.h"
#include "tests/runtime/run/small_run.h"

namespace orrery::runtime {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

template <class Error>
std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(MemoryCheck, ARunThatDoesNotFitIsRefusedToTheByte) {
  SmallRun small(two_stages());
  const RunResult result = small.run();
  std::int64_t arenas = 0;
  for (const schedule::RankTrace& rank : result.trace.ranks) arenas += rank.arena_bytes;
  const MemoryNeed need = arena_need(small.schedule, all_ranks(small.schedule), false);
  EXPECT_EQ(need.bytes, arenas) << "what the ranks then took";
  EXPECT_LE(live_need(small.schedule, all_ranks(small.schedule)).bytes, need.bytes);
  EXPECT_GT(arena_need(small.schedule, all_ranks(small.schedule), true).bytes, need.bytes) << "doubles";
  EXPECT_LT(arena_need(small.schedule, {0}, false).bytes, need.bytes);
  const auto require = [&](std::int64_t available) {
    require_memory(small.schedule, all_ranks(small.schedule), false, {std::int64_t{8} << 30, available}, "s.json");
  };
  EXPECT_NO_THROW(require(need.bytes));
  EXPECT_THROW(require(need.bytes - 1), WorldError);
  EXPECT_THAT(message_of<WorldError>([&] { require(1000); }),
              AllOf(HasSubstr("s.json: 2 ranks on this machine need 0.0 GiB of memory, and 0.0 GiB of its 8.0 GiB are free"),
                    HasSubstr("rank " + std::to_string(need.worst_rank)), HasSubstr("hint: ")));
}

class OutputCheck : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_); }
  const fs::path directory_ = fs::temp_directory_path() / ("orrery-outputs-" + std::to_string(::getpid()));
};

TEST_F(OutputCheck, WhatCannotBeWrittenIsNamedAsTheUserNamedIt) {
  const std::string lost = (directory_ / "none" / "run.trace").string();
  EXPECT_THAT(message_of<WorldError>([&] { require_writable_file("--save-trace", lost, {}); }),
              testing::StartsWith("--save-trace " + lost + ": cannot be written: No such file"));
  EXPECT_THAT(message_of<WorldError>([&] { require_writable_file("--save-trace", directory_.string(), {}); }),
              HasSubstr("is a directory"));
  std::ofstream(directory_ / "file") << "kept";
  const std::string below = (directory_ / "file" / "checkpoints").string();
  EXPECT_THAT(message_of<WorldError>([&] { require_writable_directory("--save", below); }), HasSubstr("--save " + below));
}

TEST_F(OutputCheck, AnInputIsNotOverwritten) {
  const std::string data = (directory_ / "data.txt").string();
  std::ofstream(data) << "text";
  EXPECT_THAT(message_of<InputError>([&] { require_writable_file("--save-trace", data, {"", data}); }),
              HasSubstr("would overwrite " + data));
}

TEST_F(OutputCheck, NothingIsLeftBehind) {
  const std::string trace = (directory_ / "run.trace").string();
  require_writable_file("--save-trace", trace, {});
  std::ofstream(trace) << "old";
  require_writable_file("--save-trace", trace, {"no such input"});
  require_writable_directory("--save", (directory_ / "a" / "b").string());
  EXPECT_EQ(fs::file_size(trace), 3U) << "an old file stays until the new one is written";
  EXPECT_TRUE(fs::is_empty(directory_ / "a" / "b"));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()), 2);
  require_writable_file("--save-trace", "/dev/null", {});
}

}  // namespace
}  // namespace orrery::runtime
