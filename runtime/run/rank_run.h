// One rank from its first handshake to its Trace: the same for ranks that are threads and ranks that are processes.
//
//   agree        all ranks hold the same schedule and model, or the job ends before the first step
//   state        initial weights, or those of a checkpoint
//   steps        in stretches between checkpoints; a checkpoint is copied between two steps and written beside the next ones
//   trace        what this rank did and when
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/executor/executor.h"
#include "runtime/run/run_job.h"
#include "runtime/state/directory_lock.h"
#include "runtime/state/layout.h"
#include "runtime/state/state_memory.h"
#include "schedule/trace.h"

namespace orrery::runtime {

// The state of a rank, as runtime/state sees it.
class ExecutorMemory final : public StateMemory {
 public:
  ExecutorMemory(const Executor& executor, BoardSlot& slot, bool in_double)
      : executor_(executor), slot_(slot), in_double_(in_double) {}
  std::byte* address(schedule::BufferRef ref) override { return executor_.address(ref.buffer, ref.instance); }
  Element element(BufferId buffer) const override;
  void moved() override { slot_.completed.fetch_add(1, std::memory_order_relaxed); }

 private:
  const Executor& executor_;
  BoardSlot& slot_;
  bool in_double_;
};

struct RankHooks {
  std::function<void(std::int64_t step, double loss)> on_step;  // of rank 0
  std::function<void(const std::string&)> say;                  // of rank 0: notes for people
  // At the end of the last step, while the state is there.
  std::function<void(const Executor&, StateMemory&, const StateLayout&)> inspect;
};

class CheckpointSaver;

class RankRun {
 public:
  RankRun(const RunJob& job, World& world, BoardSlot& slot, StopSign& stop, RankHooks hooks);
  ~RankRun();
  // Throws what ended the job. The rank has finished (RankState) when its caller has no more use for the others, either.
  void run();
  // Both also of a run that was stopped, or is under way: the kept steps that all ranks have performed. Any thread may ask.
  // Times are on the run's clock.
  schedule::RankTrace trace() const;
  std::vector<double> losses() const;
  bool stopped_early() const;  // asked to, and agreed with the other ranks
  Executor& executor() { return *executor_; }  // after run()

 private:
  void agree() const;
  void prepare_state();
  void take_directory(const std::string& directory);
  void run_stretches();

  const RunJob& job_;
  World& world_;
  BoardSlot& slot_;
  StopSign& stop_;
  RankHooks hooks_;
  std::unique_ptr<Device> device_;
  CpuDevice* cpu_ = nullptr;  // null when emulating
  std::unique_ptr<Executor> executor_;
  std::atomic<const Executor*> started_{nullptr};  // the same, once it is made: for other threads
  std::unique_ptr<ExecutorMemory> memory_;
  StateLayout layout_;
  std::unique_ptr<DirectoryLock> lock_;      // rank 0's, of the directory that it saves to
  std::unique_ptr<CheckpointSaver> saver_;  // null where none are saved; what it writes may outlast a run that failed
};

}  // namespace orrery::runtime
