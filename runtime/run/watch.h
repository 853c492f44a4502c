// Says why nothing goes on, and ends it. A thread of its own looks at the board (runtime/executor/board.h): when no rank that
// it can see has done anything for the limit, or a rank's process is dead, it finds out who waits for whom and who waits
// for nobody, and hands that to the caller, once. A long kernel is no progress either, so the limit must exceed the longest
// op. It also ends what was asked to stop and does not.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/executor/board.h"
#include "runtime/executor/stop.h"
#include "schedule/ir.h"

namespace orrery::runtime {

// The ranks whose slots this process sees; null where a rank is on another machine.
using Board = std::vector<BoardSlot*>;

// "rank 0: all_reduce (...), step 4, waits for rank 1", a line a rank; first whoever keeps the others waiting.
std::vector<std::string> who_waits_for_whom(const schedule::Schedule& schedule, const Board& board);

struct WatchLimits {
  double no_progress_s = 30.0;
  double asked_s = 1e9;  // from the first hurried request to stop; a second request is obeyed at once
  std::function<std::string()> who_is_gone = {};  // of those without whom nobody wants the run; empty text: nobody
};

class Watch {
 public:
  // `on_stall` is called on the watch's thread, and must not throw.
  Watch(const schedule::Schedule& schedule, Board board, const WatchLimits& limits, const StopSign& stop,
        std::function<void(const std::string& message)> on_stall);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void look();
  std::string dead_process() const;  // empty: none
  std::string disobedience(double asked_for_s) const;
  std::uint64_t progress() const;
  bool all_finished() const;
  std::string trouble(double without_progress_s, double asked_for_s) const;  // empty: none

  const schedule::Schedule& schedule_;
  Board board_;
  WatchLimits limits_;
  const StopSign& stop_;
  std::function<void(const std::string&)> on_stall_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace orrery::runtime
