#include "runtime/calibrate/workload.h"

#include <set>

namespace orrery::runtime {

std::vector<std::vector<std::int64_t>> walking_ranks(const schedule::Schedule& schedule,
                                                     std::int64_t at_once) {
  std::set<const schedule::Program*> walked;
  std::vector<std::vector<std::int64_t>> groups;
  for (std::int64_t first = 0; first < schedule.world; first += at_once) {
    std::vector<std::int64_t> ranks;
    bool is_new = false;
    for (std::int64_t i = 0; i < at_once; ++i) {
      ranks.push_back((first + i) % schedule.world);
      is_new = walked.insert(&schedule.program_of(ranks.back())).second || is_new;
    }
    if (is_new) groups.push_back(std::move(ranks));
  }
  return groups;
}

std::vector<std::int64_t> one_of_each_program(const schedule::Schedule& schedule) {
  std::set<const schedule::Program*> met;
  std::vector<std::int64_t> ranks;
  for (std::int64_t r = 0; r < schedule.world && met.size() < schedule.programs.size(); ++r)
    if (met.insert(&schedule.program_of(r)).second) ranks.push_back(r);
  return ranks;
}

}  // namespace orrery::runtime
