// Who started this rank's process, and what follows from that. A launcher (mpirun, srun) starts all ranks; above it may stand
// `orrery execute`, which says so in $ORRERY_EXECUTE (its process), waits for kRanksStarted on the standard error, and from
// then on asks for an end with SIGUSR1, which mpirun only hands on. Any other signal to mpirun makes it ask the ranks
// (SIGTERM) and kill them a second later (its parameter odls_base_sigkill_timeout), in the middle of whatever they do.
#pragma once

#include <cstdint>
#include <string>

namespace orrery::runtime {

inline constexpr const char* kRanksStarted = "orrery-rt: all ranks have started\n";

// A batch script of Slurm has a $SLURM_PROCID, too; only what srun starts as several tasks is meant.
bool started_by_a_launcher();

class Launcher {
 public:
  Launcher();  // before MPI starts, which sets variables of its own
  bool is_below_orrery() const { return orrery_ != 0; }
  // How long this process may take from SIGINT or SIGTERM on, with some time left to say why.
  double patience_s() const { return patience_s_; }
  // Who is gone, so that nobody wants the run any more and no launcher can end it; empty: nobody.
  std::string who_is_gone() const;

 private:
  std::int64_t parent_ = 0, orrery_ = 0;
  double patience_s_ = 1e9;
};

}  // namespace orrery::runtime
