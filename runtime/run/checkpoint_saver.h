// A rank's checkpoints beside its steps: the state is copied between two steps, and written by a thread of its own while the
// next ones run. One is committed when every rank has said that its part is on the disk, and never otherwise:
//
//   while steps run     a rank that has written raises its flag (Executor::raise_flag); rank 0 commits once all are raised
//   at the next save    ranks count, in rounds, who still writes and who has failed; behind that rank 0 commits, if nobody has
//
// Rounds are for the watch, too: a slow disk is progress as long as any rank's disk takes something.
#pragma once

#include <memory>

#include "runtime/cpu/cpu_device.h"
#include "runtime/executor/executor.h"
#include "runtime/run/run_job.h"
#include "runtime/state/layout.h"
#include "runtime/state/state_memory.h"

namespace orrery::runtime {

class CheckpointSaver {
 public:
  // All of these outlive it.
  CheckpointSaver(const RunJob& job, Executor& executor, BoardSlot& slot, const StateLayout& layout, StateMemory& memory);
  ~CheckpointSaver();  // what is not committed by then is not
  CheckpointSaver(const CheckpointSaver&) = delete;
  CheckpointSaver& operator=(const CheckpointSaver&) = delete;

  // Between two runs, on all ranks. Finishes the one before, copies the state, and returns.
  void begin(const OptimizerProgress& optimizer);
  // Between two runs, on all ranks: the checkpoint under way is complete, or, where none is, nothing. Throws what went wrong
  // on this rank; where it was on another, waits until that ends the job (Stopped).
  void finish();

 private:
  struct Saving;
  void write(Saving& saving);
  bool may_commit(const Saving& saving) const;

  const RunJob& job_;
  Executor& executor_;
  BoardSlot& slot_;
  const StateLayout& layout_;
  StateMemory& memory_;
  std::unique_ptr<Saving> saving_;
};

}  // namespace orrery::runtime
