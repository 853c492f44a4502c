#include "sim/commands/validate_published.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/check.h"
#include "base/data_root.h"
#include "sim/commands/scenario_files.h"
#include "sim/metrics/predict.h"
#include "sim/report/progress.h"
#include "sim/validation/accuracy_report.h"
#include "sim/validation/published_runs.h"

namespace orrery::sim {
namespace {

// Threads take the next run; the first failure ends the work.
class Work {
 public:
  explicit Work(const std::vector<PublishedRun>& runs)
      : runs_(runs), errors_(runs.size()), progress_("validate", static_cast<std::int64_t>(runs.size())) {}

  std::vector<RunError> run(unsigned threads) {
    std::vector<std::thread> others;
    for (unsigned t = 1; t < std::min<std::size_t>(threads, runs_.size()); ++t) {
      try {
        others.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
        break;  // fewer do the work
      }
    }
    work();
    for (std::thread& thread : others) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    return std::move(errors_);
  }

 private:
  void work() {
    for (std::size_t at = next_++; at < runs_.size(); at = next_++) {
      try {
        errors_[at] = run_error(runs_[at], predict(runs_[at].scenario).result);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        next_ = runs_.size();
        return;
      }
      const std::lock_guard lock(mutex_);
      progress_.advance();
    }
  }

  const std::vector<PublishedRun>& runs_;
  std::vector<RunError> errors_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  Progress progress_;
  std::exception_ptr failure_;
};

}  // namespace

int validate_published(const ValidatePublishedOptions& o, Output& out) {
  const std::string found = find_file(o.directory, nullptr);
  const std::vector<PublishedRun> runs = read_published_runs(found.empty() ? o.directory : found);
  if (runs.empty())
    throw InputError(fmt::format("{}: error: no file of measured runs is in this directory\n  hint: a file of runs is "
                                 "{{\"runs\": [...]}}, as validation/runs has them; scenarios to be performed need --execute\n",
                                 o.directory));
  const std::vector<RunError> errors =
      Work(runs).run(o.threads != 0 ? o.threads : std::max(1U, std::thread::hardware_concurrency()));
  out.write(o.markdown ? accuracy_markdown(errors) : accuracy_text(errors, o.worst));
  if (!o.output.empty()) {
    std::ofstream file(o.output, std::ios::binary);
    file << accuracy_csv(errors);
    file.close();
    if (!file) throw WorldError(fmt::format("{}: writing it failed", o.output));
  }
  return 0;
}

}  // namespace orrery::sim
