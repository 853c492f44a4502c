#include "runtime/run/launcher.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/run/process_state.h"

namespace orrery::runtime {
namespace {

constexpr double kMpirunKillsAfter_s = 1.0, kLastWords_s = 0.4;

}  // namespace

bool started_by_a_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"})
    if (std::getenv(name) != nullptr) return true;
  const char* const tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  return tasks != nullptr && std::atoll(tasks) > 1;
}

Launcher::Launcher() : parent_(::getppid()) {
  if (const char* const orrery = std::getenv("ORRERY_EXECUTE")) orrery_ = std::atoll(orrery);
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) return;
  const char* const given = std::getenv("OMPI_MCA_odls_base_sigkill_timeout");
  patience_s_ = std::max(given == nullptr ? kMpirunKillsAfter_s : std::atof(given), kMpirunKillsAfter_s) - kLastWords_s;
}

std::string Launcher::who_is_gone() const {
  if (::getppid() != parent_) return fmt::format("process {}, which started the ranks, is gone", parent_);
  if (orrery_ == 0) return {};
  const char state = process_state(orrery_);
  return state == 'X' || state == 'Z' ? fmt::format("orrery (process {}), which started this run, is gone", orrery_) : "";
}

}  // namespace orrery::runtime
