// One rank from its first handshake to its Trace: the same for ranks that are threads and ranks that are processes.
//
//   agree        all ranks hold the same schedule and model, or the job ends before the first step
//   state        initial weights, or those of a checkpoint
//   steps        in stretches between checkpoints; a checkpoint is copied between two steps and written beside the next ones
//   trace        what this rank did and when
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/data/tokens.h"
#include "runtime/executor/executor.h"
#include "runtime/state/layout.h"
#include "runtime/state/state_memory.h"
#include "schedule/trace.h"

namespace orrery::runtime {

struct RunOptions {
  std::int64_t steps = 10;
  std::int64_t discard = 0;       // first steps whose times are not kept
  bool in_double = false;
  std::string save_directory;     // of checkpoints; empty: none
  std::int64_t save_every = 0;    // steps; 0: only at the end
  std::int64_t keep = 2;          // checkpoints; 0: all
  std::string resume;             // a checkpoint, or a directory of some
  const schedule::Trace* emulate = nullptr;  // kernels are waits of these durations
  std::int64_t miscount_rank = -1, miscount_from = 0;  // for tests: ExecutorOptions::miscount_from of one rank
};

// What all ranks of the job share; outlives them.
struct RunJob {
  const schedule::Schedule* schedule = nullptr;
  const TokenSource* tokens = nullptr;
  std::uint64_t fingerprint = 0;  // of the schedule and the model: what ranks must agree on
  RunOptions options;
  std::string run_word;           // for this run's unfinished checkpoints
};

// The state of a rank, as runtime/state sees it.
class ExecutorMemory final : public StateMemory {
 public:
  ExecutorMemory(const Executor& executor, bool in_double) : executor_(executor), in_double_(in_double) {}
  std::byte* address(schedule::BufferRef ref) override { return executor_.address(ref.buffer, ref.instance); }
  Element element(BufferId buffer) const override;

 private:
  const Executor& executor_;
  bool in_double_;
};

struct RankHooks {
  std::function<void(std::int64_t step, double loss)> on_step;  // of rank 0
  std::function<void(const std::string&)> say;                  // of rank 0: notes for people
  // At the end of the last step, while the state is there.
  std::function<void(const Executor&, StateMemory&, const StateLayout&)> inspect;
};

class RankRun {
 public:
  RankRun(const RunJob& job, World& world, BoardSlot& slot, StopSign& stop, RankHooks hooks);
  ~RankRun();
  // Throws what ended the job.
  void run();
  // Also of a run that was stopped: the steps that this rank has wholly performed. Times are on the run's clock.
  schedule::RankTrace trace() const;
  Executor* executor() const { return executor_.get(); }  // null before run()
  std::int64_t steps_done() const;

 private:
  void agree() const;
  void prepare_state();
  void run_stretches();
  void save(bool last);
  void finish_saving();

  const RunJob& job_;
  World& world_;
  BoardSlot& slot_;
  StopSign& stop_;
  RankHooks hooks_;
  std::unique_ptr<Device> device_;
  CpuDevice* cpu_ = nullptr;  // null when emulating
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<ExecutorMemory> memory_;
  StateLayout layout_;
  struct Saving;
  std::unique_ptr<Saving> saving_;
};

// The whole run's: all ranks' traces put together, losses, begin times from the meetings' sides.
schedule::Trace merge_traces(const RunJob& job, std::vector<schedule::RankTrace> ranks, std::vector<double> losses);

}  // namespace orrery::runtime
