#include "runtime/run/thread_run.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/diagnostics.h"
#include "runtime/comm/thread_world.h"
#include "runtime/run/run_trace.h"
#include "runtime/run/watch.h"

namespace orrery::runtime {
namespace {

// Whether the ranks' threads have left, for the watch's thread to wait for.
class Left {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    left_ = true;
    changed_.notify_all();
  }
  bool wait(double seconds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return left_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool left_ = false;
};

RunResult result_of(const RunJob& job, const std::vector<std::unique_ptr<RankRun>>& runs, const StopSign& stop) {
  std::vector<schedule::RankTrace> ranks;
  for (const auto& run : runs) ranks.push_back(run->trace());
  RunResult result{empty_trace(job, "ranks are threads"), stop.error()};
  merge_ranks(job, std::move(ranks), runs.front()->losses(), result.trace);
  result.stopped = runs.front()->stopped_early();
  return result;
}

void run_rank(RankRun& run, BoardSlot& slot, StopSign& stop) {
  try {
    run.run();
    slot.state.store(RankState::finished);
  } catch (const Stopped&) {
  } catch (...) {
    slot.state.store(RankState::failed);
    stop.fail(std::current_exception());
  }
}

}  // namespace

RunResult run_as_threads(const RunJob& job, StopSign& stop, const StallLimits& limits,
                         const std::function<RankHooks(int rank)>& hooks,
                         const std::function<void(const std::string&, const RunResult&)>& last_resort) {
  const auto size = static_cast<int>(job.schedule->world);
  const std::vector<std::unique_ptr<World>> worlds = make_thread_worlds(size);
  std::vector<BoardSlot> slots(static_cast<std::size_t>(size));
  Board board;
  for (BoardSlot& slot : slots) board.push_back(&slot);
  std::vector<std::unique_ptr<RankRun>> runs;
  for (int r = 0; r < size; ++r) {
    const auto at = static_cast<std::size_t>(r);
    runs.push_back(std::make_unique<RankRun>(job, *worlds[at], slots[at], stop, hooks(r)));
  }
  Left left;
  {
    const Watch watch(*job.schedule, board, {.no_progress_s = limits.no_progress_s}, stop, [&](const std::string& message) {
      stop.fail(std::make_exception_ptr(WorldError(message)));
      if (!left.wait(limits.last_words_s)) last_resort(message, result_of(job, runs, stop));
    });
    std::vector<std::thread> threads;
    threads.reserve(slots.size());
    try {
      for (int r = 0; r < size; ++r)
        threads.emplace_back([&, r] { run_rank(*runs[static_cast<std::size_t>(r)], slots[static_cast<std::size_t>(r)], stop); });
    } catch (const std::system_error& error) {
      stop.fail(std::make_exception_ptr(WorldError(fmt::format("no thread for rank {}: {}", threads.size(), error.what()))));
    }
    for (std::thread& thread : threads) thread.join();
    left.set();
  }
  return result_of(job, runs, stop);
}

}  // namespace orrery::runtime
