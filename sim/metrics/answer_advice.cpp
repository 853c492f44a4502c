// What the user should know about the answer itself rather than about the plan.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/metrics/advice.h"

namespace orrery::sim {
namespace {

void advise_averaged(const scenarios::Scenario& s, const Result& r, std::vector<Diagnostic>& found) {
  if (r.exact) return;
  found.push_back(
      {Severity::warning, s.origins.global_batch,
       fmt::format("the microbatches never repeat exactly: {} of {} were simulated, the others take "
                   "their average",
                   r.microbatches_simulated, s.training.microbatches),
       "nothing, if a step to about 1e-4 is enough; run --full simulates every one"});
}

void advise_forced(const scenarios::Scenario& s, const std::vector<std::string>& disobedient,
                   std::vector<Diagnostic>& found) {
  if (disobedient.empty()) return;
  found.push_back(
      {Severity::warning, s.origins.scenario,
       fmt::format("these collectives do not obey network.algorithm or network.protocol: {}",
                   fmt::join(disobedient, ", ")),
       "they have no such combination here, and NCCL would fall back too; \"auto\" leaves all to it"});
}

}  // namespace

std::vector<Diagnostic> answer_advice(const scenarios::Scenario& s, const Result& r,
                                      const std::vector<std::string>& disobedient,
                                      const std::vector<schedule::Finding>& unchecked) {
  std::vector<Diagnostic> found;
  advise_averaged(s, r, found);
  advise_forced(s, disobedient, found);
  for (const schedule::Finding& finding : unchecked)
    found.push_back({Severity::warning, s.origins.schedule,
                     "the schedule was not checked in full: " + finding.message,
                     "fewer microbatches in flight (1f1b), or a smaller global_batch, to have it checked"});
  return found;
}

}  // namespace orrery::sim
