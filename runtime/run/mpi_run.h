// A job whose ranks are MPI processes: this process is one of them. Ranks of one machine share a board, so that any of them
// can say who waits for whom; each has a watch, and the first to see a stall or a dead process speaks for all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/mpi_world.h"
#include "runtime/run/launcher.h"
#include "runtime/run/thread_run.h"

namespace orrery::runtime {

class MpiRun {
 public:
  // The caller has made the world, and this destroys it; the launcher outlives it. Where ranks cannot greet each other the job ends with a message.
  MpiRun(std::unique_ptr<MpiWorld> world, const Launcher& launcher);
  ~MpiRun();
  int rank() const;
  int size() const;
  std::vector<std::int64_t> ranks_here() const;  // on this rank's machine, with it
  const std::string& job_word() const { return job_word_; }  // the same on all ranks, and no other job's
  // The result is rank 0's: others' holds their own trace alone. Where the job dies (a rank is dead, stalls or fails), one
  // rank prints one message, each writes what it has into PART_NAME.rank-N.part, and the process ends with code 3.
  RunResult run(const RunJob& job, StopSign& stop, const StallLimits& limits, const RankHooks& hooks,
                const std::string& part_name);
  // Ends all processes with a message of this one.
  [[noreturn]] void end_job(const std::string& message, int exit_code);

 private:
  struct Shared;
  struct Clocks;
  std::string ranks_are() const;
  // Says why, keeps what was measured, ends all processes. Any thread may call it.
  [[noreturn]] void end_run(const RunJob& job, const RankRun& run, const std::string& part_name, const std::string& message);

  std::unique_ptr<MpiWorld> world_;
  const Launcher& launcher_;
  std::unique_ptr<Shared> shared_;
  std::unique_ptr<Clocks> clocks_;
  std::string job_word_;
};

}  // namespace orrery::runtime
