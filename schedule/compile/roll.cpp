// Finds the stretches of a stage's order that repeat, so that a program's size does not depend on the number
// of microbatches. Step i and step i + P are alike when they differ by a constant number of microbatches
// only; a run of R such steps is R / P + 1 repetitions. Cost: one comparison a step.
#include <algorithm>

#include "schedule/compile/program_writer.h"

namespace orrery::schedule {
namespace {

constexpr std::uint32_t kFewest = 3;  // repetitions that are worth a Repeat

bool alike(const Message& a, const Message& b, std::uint32_t later) {
  return a.sends == b.sends && a.backward == b.backward && a.chunk == b.chunk &&
         a.microbatch + later == b.microbatch;
}

bool alike(const std::vector<Message>& a, const std::vector<Message>& b, std::uint32_t later) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const Message& x, const Message& y) { return alike(x, y, later); });
}

bool alike(const StageStep& a, const StageStep& b, std::uint32_t later) {
  return a.action.backward == b.action.backward && a.action.chunk == b.action.chunk &&
         a.action.microbatch + later == b.action.microbatch && a.last_of_chunk == b.last_of_chunk &&
         a.first_of_chunk == b.first_of_chunk &&
         alike(a.before, b.before, later) && alike(a.after, b.after, later);
}

}  // namespace

std::vector<Stretch> find_stretches(const std::vector<StageStep>& steps, const Period& period) {
  std::vector<Stretch> stretches;
  const std::size_t p = period.actions;
  std::size_t i = 0;
  while (i + p < steps.size()) {
    std::size_t run = 0;
    while (i + run + p < steps.size() && alike(steps[i + run], steps[i + run + p], period.microbatches))
      ++run;
    const auto count = static_cast<std::uint32_t>(run / p + 1);
    if (count >= kFewest) {
      stretches.push_back({.first = i, .actions = p, .count = count, .microbatches = period.microbatches});
      i += count * p;
    } else {
      i += run + 1;
    }
  }
  return stretches;
}

}  // namespace orrery::schedule
