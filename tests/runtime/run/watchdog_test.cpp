// Ranks that are processes are killed, stopped and made to miscount at random moments, sixty times. Each time the job ends with
// code 3 and one message that names a rank, leaves no process behind, and what was measured can be read. Signals to orrery itself
// are heard at any moment.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "schedule/trace_file.h"

namespace orrery::runtime {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Ranks' processes that were started with this word on their command line.
std::vector<pid_t> ranks_with(const std::string& word) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code gone;
    const fs::path program = fs::read_symlink(entry.path() / "exe", gone);
    if (gone || (program.filename() != "orrery-rt" && program.filename() != "miscounting_ranks")) continue;
    if (text_of(entry.path() / "cmdline").find(word) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

class Job {
 public:
  // `words`: the program and its arguments; behind them follows the name of the trace.
  Job(const fs::path& directory, std::vector<std::string> words) : directory_(directory) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    words.push_back(trace());
    process_ = ::fork();
    if (process_ != 0) return;
    const int out = ::open((directory_ / "out").c_str(), O_CREAT | O_WRONLY, 0600);
    const int err = ::open((directory_ / "err").c_str(), O_CREAT | O_WRONLY, 0600);
    ::dup2(out, 1);
    ::dup2(err, 2);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(arguments.front(), arguments.data());
    ::_exit(127);
  }
  ~Job() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  std::string trace() const { return (directory_ / "trace.json").string(); }
  std::string errors() const { return text_of(directory_ / "err"); }
  pid_t process() const { return process_; }

  bool wait_for_step(int step) const {
    const std::string line = fmt::format("step {:>5} ", step);
    for (int i = 0; i < 600; ++i) {
      if (text_of(directory_ / "out").find(line) != std::string::npos) return true;
      std::this_thread::sleep_for(milliseconds(50));
    }
    return false;
  }
  // -1: it did not end in time.
  int end_code() {
    for (int i = 0; i < 600; ++i) {
      int status = 0;
      if (::waitpid(process_, &status, WNOHANG) == process_) {
        process_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
      }
      std::this_thread::sleep_for(milliseconds(50));
    }
    return -1;
  }
  // What ranks wrote of what they had measured; each must be readable.
  int readable_parts() const {
    int parts = 0;
    for (const auto& entry : fs::directory_iterator(directory_))
      if (entry.path().extension() == ".part") {
        EXPECT_FALSE(schedule::read_trace(entry.path().string()).ranks.front().records.empty());
        ++parts;
      }
    return parts;
  }

 private:
  fs::path directory_;
  pid_t process_ = -1;
};

std::vector<std::string> execute(const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{ORRERY_PROGRAM, "execute", "scenarios/cpu/gpt-3d.json", "--ranks-as", "mpi",
                                 "--set", "cluster.node.gpus=4", "--set", "parallel.tp=1", "--set", "parallel.sp=false",
                                 "--set", "model.hidden=32", "--set", "model.head_dim=8", "--set", "model.ffn_hidden=64",
                                 "--steps", "1000000", "--stall-limit", "2"};
  words.insert(words.end(), more.begin(), more.end());
  words.emplace_back("--save-trace");
  return words;
}

int lines_beginning_with(const std::string& text, const std::string& word) {
  int count = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) count += line.rfind(word, 0) == 0 ? 1 : 0;
  return count;
}

bool leaves_nobody(const std::string& word) {
  for (int i = 0; i < 100 && !ranks_with(word).empty(); ++i) std::this_thread::sleep_for(milliseconds(50));
  return ranks_with(word).empty();
}

void expect_one_message(Job& job) {
  const int code = job.end_code();
  const std::string errors = job.errors();
  EXPECT_EQ(code, 3) << errors;
  EXPECT_EQ(lines_beginning_with(errors, "error:"), 1) << errors;
  EXPECT_NE(errors.find("rank "), std::string::npos) << errors;
  EXPECT_TRUE(leaves_nobody(job.trace()));
}

fs::path directory(int trial) { return fs::path(testing::TempDir()) / fmt::format("orrery_watchdog_{}_{}", ::getpid(), trial); }

class Watchdog : public testing::TestWithParam<int> {
 protected:
  void TearDown() override { fs::remove_all(directory(GetParam())); }
  std::mt19937 random_{static_cast<unsigned>(GetParam())};
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  // After the third step and a random moment, so that something was measured.
  void signal_some_rank(const Job& job, int signal) {
    ASSERT_TRUE(job.wait_for_step(3)) << job.errors();
    std::this_thread::sleep_for(milliseconds(pick(200)));
    const std::vector<pid_t> ranks = ranks_with(job.trace());
    ASSERT_EQ(ranks.size(), 4U);
    ::kill(ranks[static_cast<std::size_t>(pick(4))], signal);
  }
};

class KilledRank : public Watchdog {};
TEST_P(KilledRank, EndsTheJob) {
  Job job(directory(GetParam()), execute());
  signal_some_rank(job, SIGKILL);
  expect_one_message(job);
  EXPECT_GT(job.readable_parts(), 0);
}
INSTANTIATE_TEST_SUITE_P(Random, KilledRank, testing::Range(0, 20));

class StoppedRank : public Watchdog {};
TEST_P(StoppedRank, EndsTheJob) {
  Job job(directory(GetParam()), execute());
  signal_some_rank(job, SIGSTOP);
  expect_one_message(job);
  EXPECT_NE(job.errors().find("is stopped"), std::string::npos) << job.errors();
  EXPECT_GT(job.readable_parts(), 0);
}
INSTANTIATE_TEST_SUITE_P(Random, StoppedRank, testing::Range(100, 115));

// Most of the time, a checkpoint is then under way, and ranks wait for each other between two stretches of steps.
class StoppedWhileSaving : public Watchdog {};
TEST_P(StoppedWhileSaving, EndsTheJob) {
  const fs::path checkpoints = directory(GetParam()) / "checkpoints";
  Job job(directory(GetParam()), execute({"--save", checkpoints.string(), "--every", "1"}));
  signal_some_rank(job, SIGSTOP);
  expect_one_message(job);
  EXPECT_NE(job.errors().find("is stopped"), std::string::npos) << job.errors();
}
INSTANTIATE_TEST_SUITE_P(Random, StoppedWhileSaving, testing::Range(400, 410));

class MiscountingRank : public Watchdog {};
TEST_P(MiscountingRank, EndsTheJob) {
  Job job(directory(GetParam()), {MPIRUN, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "4",
                                  MISCOUNTING_RANKS, std::to_string(pick(4)), std::to_string(1 + pick(400))});
  expect_one_message(job);
}
INSTANTIATE_TEST_SUITE_P(Random, MiscountingRank, testing::Range(200, 215));

TEST(Interrupted, EndsAfterAStepAndKeepsTheTrace) {
  Job job(directory(300), execute());
  ASSERT_TRUE(job.wait_for_step(3)) << job.errors();
  ::kill(job.process(), SIGINT);
  EXPECT_EQ(job.end_code(), 3) << job.errors();
  const schedule::Trace trace = schedule::read_trace(job.trace());
  EXPECT_FALSE(trace.complete);
  EXPECT_EQ(trace.ranks.size(), 4U);
  EXPECT_GT(trace.steps, 0);
  EXPECT_TRUE(leaves_nobody(job.trace()));
  fs::remove_all(directory(300));
}

// While mpirun starts, while ranks start, while they read, and in the first steps: whenever it comes, it is heard.
class InterruptedEarly : public Watchdog {};
TEST_P(InterruptedEarly, EndsTheJob) {
  Job job(directory(GetParam()), execute());
  std::this_thread::sleep_for(milliseconds(40 * (GetParam() - 500)));
  ::kill(job.process(), SIGTERM);
  const int code = job.end_code();
  EXPECT_TRUE(code == 3 || code == -2) << code << " (-2: before orrery itself listened)\n" << job.errors();
  EXPECT_EQ(job.errors().find("was ended by signal"), std::string::npos) << job.errors();
  EXPECT_TRUE(leaves_nobody(job.trace()));
}
INSTANTIATE_TEST_SUITE_P(Moments, InterruptedEarly, testing::Range(500, 525));

pid_t parent_of(pid_t process) {
  const std::string stat = text_of(fmt::format("/proc/{}/stat", process));
  return std::stoi(stat.substr(stat.rfind(')') + 4));
}

// A stopped mpirun can neither hear that orrery is gone nor end the ranks.
TEST(KilledOrrery, LeavesNoRankBehindAStoppedMpirun) {
  Job job(directory(301), execute());
  ASSERT_TRUE(job.wait_for_step(3)) << job.errors();
  const std::vector<pid_t> ranks = ranks_with(job.trace());
  ASSERT_EQ(ranks.size(), 4U);
  const pid_t mpirun = parent_of(ranks.front());
  ASSERT_EQ(parent_of(mpirun), job.process());
  ::kill(mpirun, SIGSTOP);
  ::kill(job.process(), SIGKILL);
  EXPECT_TRUE(leaves_nobody(job.trace()));
  ::kill(mpirun, SIGKILL);
  fs::remove_all(directory(301));
}

}  // namespace
}  // namespace orrery::runtime
