// What a sweep is asked to do: scenario files x values of fields, numbered; the first field varies slowest.
// Its id is a hash of everything that decides the rows (the files' content with their bases, model, cluster
// and GPU; the fields; the program's version), so that a row is never taken for one of another sweep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "scenarios/assignment.h"

namespace orrery::sim {

struct SweepPlan {
  std::vector<std::string> files;
  std::vector<Json> scenarios;  // one a file; bases not yet merged
  std::vector<scenarios::Axis> axes;
  bool full = false;  // predict every rank and microbatch
  std::string id;     // 16 hex digits

  std::size_t size() const;
  struct Combination {
    std::size_t file = 0;
    std::vector<scenarios::Assignment> assignments;  // one an axis
  };
  Combination at(std::size_t index) const;
};

// Throws InputError: a file that cannot be read, a field that is none or set twice, too many combinations.
SweepPlan plan_sweep(const std::vector<std::string>& files, const std::vector<std::string>& sets, bool full);

}  // namespace orrery::sim
