#include "sim/commands/sweep_work.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"

namespace orrery::sim {
namespace {

// What workers and taker share. Rows wait here until those before them are there; workers run at most kAhead
// rows ahead of the taker, so that a slow disk does not fill the memory.
class Board {
 public:
  explicit Board(std::size_t count) : count_(count) {}

  // The next row to compute, or count: nothing is left, or the work was stopped.
  std::size_t next() {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return stopped_ || started_ == count_ || started_ < taken_ + kAhead; });
    return stopped_ ? count_ : started_ < count_ ? started_++ : count_;
  }
  void put(std::size_t at, SweepRow row) {
    const std::lock_guard lock(mutex_);
    ready_.emplace(at, std::move(row));
    moved_.notify_all();
  }
  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    stopped_ = true;
    moved_.notify_all();
  }
  // The row `at`; rethrows what stopped the work.
  SweepRow take(std::size_t at) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return error_ || ready_.count(at) != 0; });
    if (ready_.count(at) == 0) std::rethrow_exception(error_);
    SweepRow row = std::move(ready_.extract(at).mapped());
    taken_ = at + 1;
    moved_.notify_all();
    return row;
  }

 private:
  static constexpr std::size_t kAhead = 256;
  const std::size_t count_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::map<std::size_t, SweepRow> ready_;
  std::size_t started_ = 0, taken_ = 0;
  bool stopped_ = false;
  std::exception_ptr error_;
};

// Joins on every way out.
class Workers {
 public:
  Workers(Board& board, unsigned threads, const std::function<SweepRow(std::size_t)>& compute)
      : board_(board) {
    threads_.reserve(threads);
    for (unsigned t = 0; t < threads; ++t) {
      try {
        threads_.emplace_back([&board, &compute] { work(board, compute); });
      } catch (const std::system_error& error) {  // the system gives no more threads: fewer do the work
        if (threads_.empty()) throw WorldError(std::string("no thread could be started: ") + error.what());
        return;
      }
    }
  }
  ~Workers() {
    board_.fail(nullptr);
    for (std::thread& thread : threads_) thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

 private:
  static void work(Board& board, const std::function<SweepRow(std::size_t)>& compute) {
    for (;;) {
      const std::size_t at = board.next();
      try {
        SweepRow row = compute(at);
        if (row.empty()) return;
        board.put(at, std::move(row));
      } catch (...) {
        board.fail(std::current_exception());
        return;
      }
    }
  }
  Board& board_;
  std::vector<std::thread> threads_;
};

}  // namespace

void compute_rows(const SweepPlan& plan, const std::vector<std::size_t>& indices, unsigned threads,
                  const std::function<void(std::size_t, SweepRow)>& take) {
  Board board(indices.size());
  const std::function<SweepRow(std::size_t)> compute = [&](std::size_t at) {
    return at < indices.size() ? evaluate(plan, indices[at]) : SweepRow{};
  };
  const unsigned useful = static_cast<unsigned>(std::min<std::size_t>(threads, indices.size()));
  const Workers workers(board, useful, compute);
  for (std::size_t at = 0; at < indices.size(); ++at) take(indices[at], board.take(at));
}

}  // namespace orrery::sim
