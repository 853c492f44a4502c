#include "sim/validation/predict_runs.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/diagnostics.h"
#include "sim/metrics/predict.h"

namespace orrery::sim {
namespace {

// Threads take the next run; the first failure ends the work.
class Work {
 public:
  Work(const std::vector<PublishedRun>& runs, const std::function<void()>& done) : runs_(runs), errors_(runs.size()), done_(done) {}

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
  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    next_ = runs_.size();
  }

  void work() {
    for (std::size_t at = next_++; at < runs_.size(); at = next_++) {
      try {
        errors_[at] = run_error(runs_[at], predict(runs_[at].scenario).result);
      } catch (const InputError& error) {
        fail(std::make_exception_ptr(InputError(runs_[at].id + ": " + error.what())));
        return;
      } catch (...) {
        fail(std::current_exception());
        return;
      }
      const std::lock_guard lock(mutex_);
      done_();
    }
  }

  const std::vector<PublishedRun>& runs_;
  std::vector<RunError> errors_;
  const std::function<void()>& done_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

std::vector<RunError> predict_runs(const std::vector<PublishedRun>& runs, unsigned threads, const std::function<void()>& done) {
  return Work(runs, done).run(threads);
}

}  // namespace orrery::sim
