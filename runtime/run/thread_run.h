// A whole job in one process: every rank is a thread (with the lanes' threads below it), and a watch looks at all of them.
#pragma once

#include <exception>
#include <functional>
#include <vector>

#include "runtime/run/rank_run.h"

namespace orrery::runtime {

struct RunResult {
  schedule::Trace trace;     // of the steps that all ranks have wholly performed, also where the run ended early
  std::exception_ptr error;  // what ended it early; null: nothing did
  bool stopped = false;      // a rank was asked to stop, and all did so after the same step
};

struct StallLimits {
  double no_progress_s = 30.0;
  double last_words_s = 2.0;  // how long threads have to leave after a stall; a rank may be stuck in a kernel
};

// `hooks` makes each rank's. `last_resort` is called where threads do not leave after a stall, on a thread of its own: with
// the message, and what there is of a result. It must neither return nor throw.
RunResult run_as_threads(const RunJob& job, StopSign& stop, const StallLimits& limits,
                         const std::function<RankHooks(int rank)>& hooks,
                         const std::function<void(const std::string&, const RunResult&)>& last_resort);

}  // namespace orrery::runtime
