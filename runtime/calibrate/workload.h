// What calibration performs to time kernels: a step of one plan of one model, compiled.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schedule/ir.h"

namespace orrery::runtime {

struct Workload {
  std::string name;  // "gpt-h128", "gpt-h128, hidden x 2"
  std::shared_ptr<const schedule::Schedule> schedule;
  bool is_scenario = false;  // one that was given, not a variation of one
};

// Ranks that walk at once, `at_once` of them, so that each program of the schedule is walked. Where the
// schedule has fewer ranks, some of them walk several times.
std::vector<std::vector<std::int64_t>> walking_ranks(const schedule::Schedule& schedule,
                                                     std::int64_t at_once);

// One rank of each program.
std::vector<std::int64_t> one_of_each_program(const schedule::Schedule& schedule);

}  // namespace orrery::runtime
