// Finds the stretches of a stage's order that repeat, so that a program's size does not depend on the number
// of microbatches. Step i and step i + P are alike when they differ by a constant number of microbatches
// only; a run of R such steps is R / P + 1 repetitions. Periods are looked for at a few places of the order, and the
// one is taken that leaves the least to write. Cost: a few comparisons a step.
#include <algorithm>
#include <utility>

#include "schedule/compile/program_writer.h"

namespace orrery::schedule {
namespace {

constexpr std::uint32_t kFewest = 3;  // repetitions that are worth a Repeat

bool alike(const Message& a, const Message& b, std::uint32_t later) {
  return a.sends == b.sends && a.backward == b.backward && a.chunk == b.chunk && a.joined == b.joined &&
         a.microbatch + later == b.microbatch;
}

bool alike(const std::vector<Message>& a, const std::vector<Message>& b, std::uint32_t later) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const Message& x, const Message& y) { return alike(x, y, later); });
}

bool alike(const StageStep& a, const StageStep& b, std::uint32_t later) {
  return a.action.kind == b.action.kind && a.action.chunk == b.action.chunk && a.action.joined == b.action.joined &&
         a.action.microbatch + later == b.action.microbatch && a.last_of_chunk == b.last_of_chunk &&
         a.first_of_chunk == b.first_of_chunk && a.defers == b.defers &&
         alike(a.before, b.before, later) && alike(a.after, b.after, later);
}

struct Period {
  std::size_t actions = 1;
  std::uint32_t microbatches = 1;
  bool operator==(const Period&) const = default;
  // Multiples of a period are periods too, and add nothing.
  bool is_as_fast_as(const Period& other) const {
    return actions * other.microbatches == other.actions * microbatches;
  }
};

// Appends the periods that hold for kFewest repetitions from `at` on. Several may: within one chunk's group of
// microbatches an interleaved order repeats itself faster than as a whole.
void append_periods(const std::vector<StageStep>& steps, std::size_t at, std::vector<Period>& periods) {
  std::vector<Period> found;
  for (std::size_t p = 1; at + kFewest * p <= steps.size(); ++p) {
    const Action &here = steps[at].action, &there = steps[at + p].action;
    if (here.kind != there.kind || here.chunk != there.chunk || here.microbatch >= there.microbatch) continue;
    const Period period{p, there.microbatch - here.microbatch};
    const auto as_fast = [&](const Period& known) { return period.is_as_fast_as(known); };
    if (std::any_of(found.begin(), found.end(), as_fast)) continue;
    std::size_t run = 0;
    while (run < (kFewest - 1) * p && alike(steps[at + run], steps[at + run + p], period.microbatches)) ++run;
    if (run == (kFewest - 1) * p) found.push_back(period);
  }
  for (const Period& period : found)
    if (std::find(periods.begin(), periods.end(), period) == periods.end()) periods.push_back(period);
}

std::vector<Stretch> stretches_of(const std::vector<StageStep>& steps, const Period& period) {
  std::vector<Stretch> stretches;
  const std::size_t p = period.actions;
  std::size_t i = 0;
  while (i + p < steps.size()) {
    std::size_t run = 0;
    while (i + run + p < steps.size() && alike(steps[i + run], steps[i + run + p], period.microbatches))
      ++run;
    const auto count = static_cast<std::uint32_t>(run / p + 1);
    if (steps[i].action.joined == Joined::ends && count >= kFewest) {
      ++i;  // a repetition does not begin in the middle of a joined pair
    } else if (count >= kFewest) {
      stretches.push_back({.first = i, .actions = p, .count = count, .microbatches = period.microbatches});
      i += count * p;
    } else {
      i += run + 1;
    }
  }
  return stretches;
}

// Steps that need not be written.
std::size_t saved(const std::vector<Stretch>& stretches) {
  std::size_t steps = 0;
  for (const Stretch& s : stretches) steps += s.actions * (s.count - 1);
  return steps;
}

}  // namespace

std::vector<Stretch> find_stretches(const std::vector<StageStep>& steps) {
  constexpr std::size_t kPlaces = 16;
  std::vector<Period> periods;
  for (std::size_t place = 0; place < kPlaces; ++place)
    append_periods(steps, steps.size() * place / kPlaces, periods);
  std::vector<Stretch> best;
  for (const Period& period : periods) {
    std::vector<Stretch> found = stretches_of(steps, period);
    if (saved(found) > saved(best)) best = std::move(found);
  }
  return best;
}

}  // namespace orrery::schedule
