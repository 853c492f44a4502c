// What the ops of a run need beside their operands, the same for all ranks of a process: which tokens, which draws, which
// optimizer step. Keys of random draws are those of the model and the batch, never of the plan (docs/schedule.md, section 7).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/data/tokens.h"
#include "runtime/executor/device.h"
#include "schedule/ir.h"
#include "schedule/positions.h"

namespace orrery::runtime {

struct CpuJob {
  const schedule::Schedule* schedule = nullptr;
  const TokenSource* tokens = nullptr;
  std::int64_t batch = 1;     // sequences of a microbatch
  std::int64_t sequence = 1;  // positions of each that a rank has
  bool in_double = false;
  bool scales_loss = false;              // fp16
};
CpuJob cpu_job(const schedule::Schedule& schedule, const TokenSource& tokens, bool in_double);

// Where an op stands in the model and the batch.
class Placement {
 public:
  Placement(const CpuJob& job, const OpCall& call) : job_(job), call_(call) {}
  std::int64_t index_in(std::uint8_t group) const;  // 0 where the schedule lacks that group
  std::int64_t shard_index() const;                 // in the op's group, or the tensor group
  std::int64_t shard_count() const;
  std::int64_t layer() const;                       // of the model; embedding -1, head -2
  std::int64_t first_sequence() const;              // global number of the microbatch's first sequence
  schedule::ContextPlace context() const { return schedule::context_place(*job_.schedule, call_.plan->rank); }
  // A hidden state of which `rows` rows are here: runs of rows, and the microbatch's row that each begins with.
  struct RowRun {
    std::int64_t row, count, of_microbatch;
  };
  std::vector<RowRun> row_runs(std::int64_t rows) const;
  // Keys of the op's dropout for each sequence of the microbatch; valid until this thread asks again.
  const std::uint64_t* dropout_keys() const;

 private:
  const CpuJob& job_;
  const OpCall& call_;
};

}  // namespace orrery::runtime
