// A schedule text from a file, and what it must have in common with a scenario that lends it a machine.
#include <fmt/format.h>

#include "schedule/text.h"

namespace orrery::schedule {

Schedule read_schedule(const std::string& path) {
  Diagnostics diagnostics;
  Schedule schedule = parse(read_source(path), diagnostics);
  diagnostics.throw_if_errors();
  return schedule;
}

Schedule read_schedule_for(const scenarios::Scenario& scenario, const std::string& path) {
  Schedule schedule = read_schedule(path);
  if (schedule.world != scenario.parallel.world())
    throw InputError(fmt::format("{}: error: a schedule for {} ranks, but the plan of {} has {}\n  hint: say \"world {}\", or change "
                                 "the scenario's cluster\n",
                                 path, schedule.world, scenario.path, scenario.parallel.world(), scenario.parallel.world()));
  if (schedule.microbatches != scenario.training.microbatches)
    throw InputError(fmt::format("{}: error: a schedule of {} microbatches, but {} has {}\n  hint: say \"microbatches {}\", or change "
                                 "the scenario's global_batch\n",
                                 path, schedule.microbatches, scenario.path, scenario.training.microbatches,
                                 scenario.training.microbatches));
  return schedule;
}

}  // namespace orrery::schedule
