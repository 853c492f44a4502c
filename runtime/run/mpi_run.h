// A job whose ranks are MPI processes: this process is one of them. Ranks of one machine share a board, so that any of them
// can say who waits for whom; each has a watch, and the first to see a stall or a dead process speaks for all.
#pragma once

#include <string>

#include "runtime/run/thread_run.h"

namespace orrery::runtime {

class MpiRun {
 public:
  MpiRun(int& argc, char**& argv);
  ~MpiRun();
  int rank() const;
  int size() const;
  const std::string& job_word() const { return job_word_; }  // the same on all ranks, and no other job's
  // The result is rank 0's: others' holds their own trace alone. Where the job dies (a rank is dead, stalls or fails), one
  // rank prints one message, each writes what it has into PART_NAME.rank-N.part, and the process ends with code 3.
  RunResult run(const RunJob& job, StopSign& stop, const StallLimits& limits, const RankHooks& hooks,
                const std::string& part_name);
  // Ends all processes with a message of this one.
  [[noreturn]] void end_job(const std::string& message, int exit_code);

 private:
  struct Shared;
  std::unique_ptr<World> world_;
  std::unique_ptr<Shared> shared_;
  std::string job_word_;
};

}  // namespace orrery::runtime
