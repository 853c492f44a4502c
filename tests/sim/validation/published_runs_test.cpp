// Files of published runs: those that ship are read; mistakes are reported at their places.
#include "sim/validation/published_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/json.h"

namespace orrery::sim {
namespace {

using testing::HasSubstr;

class Directory {
 public:
  Directory() {
    std::string pattern = testing::TempDir() + "runs.XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  void file(const std::string& name, const std::string& text) const { std::ofstream(path_ + "/" + name) << text; }

 private:
  std::string path_;
};

std::string run_of(const std::string& measured) {
  return R"({"framework": "X 1.0", "level": "near", "scenario": {"name": "one", "model": "models/zoo/gpt2-124m.json",
    "cluster": "hardware/clusters/dgx-a100-80g.json", "training": {"global_batch": 64, "micro_batch": 8, "sequence_length": 1024},
    "measured": )" + measured + "}}";
}

std::string error_of(const std::string& text) {
  const Directory directory;
  directory.file("a.json", text);
  try {
    read_published_runs(directory.path());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(PublishedRuns, StepTimesFromAnyRate) {
  const Directory directory;
  directory.file("a.json", R"({"runs": [)" + run_of(R"({"step_time": "2 s", "peak_memory": "3 GiB"})") + "," +
                               run_of(R"({"samples_per_s": 32})") + "," + run_of(R"({"tokens_per_s_per_gpu": 4096})") + "]}");
  directory.file("left-out.json", R"([{"id": "b", "why": "c"}])");
  const std::vector<PublishedRun> runs = read_published_runs(directory.path());
  ASSERT_EQ(runs.size(), 3U);
  for (const PublishedRun& run : runs) EXPECT_NEAR(run.step_time_s, 2.0, 1e-9);
  EXPECT_EQ(runs[0].memory_bytes, 3.0 * (1 << 30));
  EXPECT_EQ(runs[1].memory_bytes, 0.0);
  EXPECT_EQ(runs[0].source, "a");
  EXPECT_EQ(runs[0].framework, "X 1.0");
  EXPECT_EQ(runs[0].level, "near");
}

TEST(PublishedRuns, MistakesAreReportedAtTheirPlaces) {
  EXPECT_THAT(error_of(R"({"runs": 3})"), HasSubstr("a list of runs is expected"));
  EXPECT_THAT(error_of(R"({"runs": [{"scenario": {}}]})"), HasSubstr("framework"));
  EXPECT_THAT(error_of(R"({"runs": [)" + run_of(R"({"comm_fraction": 0.5})") + "]}"), HasSubstr("no step time"));
  EXPECT_THAT(error_of(R"({"runs": [)" + run_of(R"({"step_tim": "2 s"})") + "]}"), HasSubstr("step_time"));
}

TEST(PublishedRuns, TheShippedOnesAreReadAndDifferInName) {
  std::set<std::string> names;
  const std::vector<PublishedRun> runs = read_published_runs("validation/runs");
  EXPECT_GT(runs.size(), 500U);
  for (const PublishedRun& run : runs) EXPECT_TRUE(names.insert(run.id).second) << run.id;
}

TEST(PublishedRuns, WhatIsLeftOutHasAReasonAndIsNotThere) {
  std::set<std::string> names;
  for (const PublishedRun& run : read_published_runs("validation/runs")) names.insert(run.id);
  const Json left_out = read_json("validation/runs/left-out.json");
  ASSERT_TRUE(left_out.is_array());
  for (const Json& entry : left_out.items) {
    EXPECT_EQ(names.count(entry.find("id")->string), 0U) << entry.find("id")->string;
    EXPECT_FALSE(entry.find("why")->string.empty()) << entry.find("id")->string;
  }
}

}  // namespace
}  // namespace orrery::sim
