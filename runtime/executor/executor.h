// Performs a rank's plan. Streams are in-order queues, spread over up to three lanes, each a thread: the compute lane, the
// communication lane, and one for the host's own work (copies, CPU optimizer). A lane starts an entry of a queue when the
// one before it has ended and all that its ops wait for has happened; it decides nothing else.
//
//   - An op's end is published as done[op] = step + 1; a wait compares. No locks on the way.
//   - A communication entry is a Transfer: started, then tested until it is done, so one lane drives all of them.
//   - A lane with nothing to do drives the communication lane if nobody else does, and otherwise sleeps on the rank's bell.
//   - Steps follow each other without a barrier. After each, ranks add up their losses and stop requests (StepEnd below);
//     nobody runs more than two steps ahead of that, so all stop after the same step.
//
// Cost of an op beyond its kernel: two clock reads, one store, a comparison per wait (tests/bench/executor_bench.cpp).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/executor/arena.h"
#include "runtime/executor/board.h"
#include "runtime/executor/device.h"
#include "runtime/executor/step_plan.h"
#include "runtime/executor/stop.h"
#include "runtime/executor/transfers.h"
#include "schedule/trace.h"

namespace orrery::runtime {

// On the run's clock, nanoseconds.
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// When an op was ready, was started, and ended; all of this rank alone.
struct OpTimes {
  std::int64_t ready = 0, started = 0, ended = 0;
};

struct ExecutorOptions {
  std::int64_t first_kept_step = 0;  // of this run (start_at); times of earlier steps are not kept
  // Nor those of steps behind these, so that a long run needs no more memory. The same on all ranks.
  std::int64_t most_kept_steps = std::numeric_limits<std::int64_t>::max();
};

class Executor {
 public:
  // All ranks construct theirs at the same time: communicators are made here, group by group.
  Executor(const schedule::Schedule& schedule, World& world, Device& device, BoardSlot& board, StopSign& stop,
           const ExecutorOptions& options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs `count` steps from where it stands, or fewer where somebody asked to stop; returns when this rank has ended them.
  // Throws the error that ended the job; Stopped where it is another rank's of this process.
  void run(std::int64_t count);

  const StepPlan& plan() const { return plan_; }
  std::int64_t rank() const { return plan_.rank; }
  std::int64_t next_step() const { return next_step_; }
  // Before the first run: steps are counted from here (a resumed run).
  void start_at(std::int64_t step);
  // Steps that all ranks have ended.
  std::int64_t settled() const { return settled_.load(std::memory_order_acquire); }
  // A flag of this rank, which any thread may raise; raised ones are counted over all ranks at the end of each step.
  // Lowered between two runs, which forgets the last count, too.
  void raise_flag() { flag_.store(true); }
  void lower_flag();
  std::int64_t flags_raised() const { return flags_raised_.load(); }
  // Performs a collective of all ranks that is no op of the schedule, and blocks until it is done. Not while a run is under
  // way; all ranks make the same such calls in the same order.
  void complete(CommCall call);
  bool stopped_early() const { return stopped_early_.load(); }
  // The first element of a persistent buffer's instance.
  std::byte* address(BufferId buffer, std::uint32_t instance) const;
  // Of the whole batch, by step from the first that was run: the same on every rank. Any thread may ask.
  std::vector<double> losses() const;
  // Called after each step, on whichever thread learns of it; only set on the rank that reports.
  std::function<void(std::int64_t step, double loss)> on_step;

  // Of an op in a step that is kept and that this rank has ended. Between two runs.
  const OpTimes& times(std::int64_t step, std::uint32_t op) const;
  // All of them, for steps that all ranks have ended; `begin` is when this rank began. Any thread may ask, at any time.
  std::vector<schedule::TraceRecord> records() const;
  const ArenaPlan& arena() const { return arena_; }

 private:
  struct Queue;
  struct Lane;
  struct StepEnd;

  void bind_memory();
  void prepare_transfers();
  void make_lanes();
  void mark_bell_ringers();

  bool advance(Lane& lane);
  bool advance(Queue& queue);
  bool waits_are_over(Queue& queue);
  void start(Queue& queue);
  void finish(Queue& queue);
  bool advance_step_end();
  void drive(Lane& lane);
  bool all_done() const;
  bool keeps(std::int64_t step) const;
  void start_lanes(std::vector<std::thread>& threads);
  void make_times(std::int64_t until_step);
  void work(Lane& lane);

  World& world_;
  Device& device_;
  BoardSlot& board_;
  StopSign& stop_;
  ExecutorOptions options_;
  StepPlan plan_;
  ArenaPlan arena_;
  std::byte* device_memory_ = nullptr;
  std::byte* host_memory_ = nullptr;
  std::vector<std::byte*> view_data_;         // of each view of the plan
  std::vector<std::uint32_t> persistent_of_;  // buffer -> its first persistent allocation

  Communicators communicators_;
  std::unique_ptr<Communicator> everybody_;                      // for StepEnd
  std::unique_ptr<Communicator> between_runs_;                   // for complete()
  std::uint64_t completed_ = 0;                                  // calls of complete()
  std::unique_ptr<std::atomic<std::int64_t>[]> done_;            // by op: the last step it ended in, plus 1
  std::unique_ptr<std::atomic<std::int64_t>[]> ended_at_;        // by op, of its last ends; published by done_
  std::vector<std::uint8_t> rings_;                              // by op: another lane waits for it
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<StepEnd> step_end_;
  std::mutex transfers_;                                         // one lane at a time talks to the transport
  std::int64_t next_step_ = 0;
  std::atomic<std::int64_t> limit_{0};                           // no step from here on
  std::atomic<std::int64_t> settled_{0};                         // steps whose StepEnd is over
  std::atomic<bool> stopped_early_{false};
  std::atomic<bool> flag_{false};
  std::atomic<std::int64_t> flags_raised_{0};
  std::atomic<double> loss_[4] = {};                             // of the steps in flight, this rank's share
  mutable std::mutex kept_;                                      // whoever adds to these two, or reads them from outside
  std::vector<double> losses_;
  std::vector<std::unique_ptr<OpTimes[]>> times_;  // of each kept step; made before any lane can come to it
};

}  // namespace orrery::runtime
