// Several scenarios and their results, as the reports take them.
#pragma once

#include <span>
#include <vector>

#include "sim/commands/command.h"
#include "sim/report/compared.h"

namespace orrery::sim {

// Points into both vectors.
inline std::vector<Compared> paired(const std::vector<scenarios::Scenario>& scenarios,
                                    const std::vector<Result>& results) {
  std::vector<Compared> pairs;
  for (std::size_t i = 0; i < results.size(); ++i) pairs.push_back({&scenarios[i], &results[i]});
  return pairs;
}

// kNo where one does not fit.
inline int fit_exit(const std::vector<Result>& results) {
  for (const Result& result : results)
    if (result.verdict == Verdict::does_not_fit) return kNo;
  return kFine;
}

}  // namespace orrery::sim
