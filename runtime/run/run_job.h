// What a run is asked to do, the same for all of its ranks, and what follows from it for all of them alike.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/data/tokens.h"
#include "schedule/ir.h"
#include "schedule/trace.h"

namespace orrery::runtime {

struct RunOptions {
  std::int64_t steps = 10;
  std::int64_t discard = 0;       // first steps whose times are not kept
  bool in_double = false;
  std::string save_directory{};   // of checkpoints; empty: none
  std::int64_t save_every = 0;    // steps; 0: only at the end
  std::int64_t keep = 2;          // checkpoints; 0: all
  std::string resume{};           // a checkpoint, or a directory of some
  const schedule::Trace* emulate = nullptr;  // kernels are waits of these durations
  // In the trace, of all ranks together; times of later steps are not kept. A record takes 13 bytes of a trace file as a
  // rule and 26 at most, and the file may have 64 MiB.
  std::int64_t most_records = 2'500'000;
};

// Outlives all ranks.
struct RunJob {
  const schedule::Schedule* schedule = nullptr;
  const TokenSource* tokens = nullptr;
  std::uint64_t fingerprint = 0;  // of the schedule and the model: what ranks must agree on
  RunOptions options;
  std::string run_word;           // for this run's unfinished checkpoints
};

// How many steps every rank keeps the times of, at least one: as many as fit where all ranks had the longest program.
std::int64_t kept_steps(const RunJob& job);

}  // namespace orrery::runtime
