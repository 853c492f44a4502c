// How the context-parallel ranks divide: into those that exchange heads and the ring among them.
#include <fmt/format.h>

#include "scenarios/divisors.h"
#include "scenarios/solve.h"
#include "scenarios/words.h"

namespace orrery::scenarios {

void solve_context(Draft& d, Diagnostics& diagnostics) {
  Parallel& p = d.scenario.parallel;
  const bool hybrid = p.context_method == ContextMethod::hybrid;
  const std::int64_t solved = p.context_method == ContextMethod::ulysses ? p.cp : 1;
  if (!hybrid && d.written("parallel.ulysses") && p.ulysses != solved) {
    diagnostics.error(d.at("parallel.ulysses"),
                      fmt::format("ulysses={}, but with cp_method {} and cp={} it is {}", p.ulysses, word(p.context_method), p.cp,
                                  solved),
                      "leave it out, or use cp_method \"hybrid\"");
    return;
  }
  if (!hybrid) {
    p.ulysses = solved;
    return;
  }
  if (p.ulysses > 1 && p.ulysses < p.cp && p.cp % p.ulysses == 0) return;
  std::vector<std::int64_t> legal;
  for (const std::int64_t ways : divisors(p.cp))
    if (ways > 1 && ways < p.cp) legal.push_back(ways);
  diagnostics.error(d.at(d.written("parallel.ulysses") ? "parallel.ulysses" : "parallel.cp_method"),
                    fmt::format("cp_method hybrid divides cp={} into ulysses x ring, both larger than 1, but ulysses is {}", p.cp,
                                p.ulysses),
                    legal.empty() ? "use cp_method \"ring\" or \"ulysses\", or a cp that is no prime"
                                  : fmt::format("use ulysses {}", alternatives(legal)));
}

}  // namespace orrery::scenarios
