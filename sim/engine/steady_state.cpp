// See steady_state.h. A run is a vector of integers here; periodic means that three of them lie on a line.
#include "sim/engine/steady_state.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace orrery::sim::engine {
namespace {

// step time | per actor: shares, communication, any, compute alone, host time | loop ends
constexpr std::size_t kGroups = schedule::kGroupKinds;
constexpr std::size_t kPerActor = kShares + kGroups + 3;

std::vector<std::int64_t> measures(const CutRun& cut) {
  std::vector<std::int64_t> all{cut.run.step_time};
  for (std::size_t a = 0; a < cut.run.accounts.size(); ++a) {
    const Account& account = cut.run.accounts[a];
    all.insert(all.end(), account.shares().begin(), account.shares().end());
    all.insert(all.end(), account.communication().begin(), account.communication().end());
    all.push_back(account.communication_any());
    all.push_back(cut.compute_alone[a]);
    all.push_back(cut.host_time[a]);
  }
  for (const LoopEnd& end : cut.run.loop_ends) all.push_back(end.time);
  return all;
}

std::vector<std::int64_t> growth(const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to) {
  std::vector<std::int64_t> difference;
  for (std::size_t i = 0; i < from.size() && i < to.size(); ++i) difference.push_back(to[i] - from[i]);
  return difference;
}

bool alike(const Run& a, const Run& b) {
  return a.leads == b.leads && std::equal(a.loop_ends.begin(), a.loop_ends.end(), b.loop_ends.begin(),
                                          b.loop_ends.end(), [](const LoopEnd& x, const LoopEnd& y) {
                                            return x.actor == y.actor && x.loop == y.loop &&
                                                   x.stream == y.stream;
                                          });
}

// All streams of an actor keep step in each of its main loops, the last loop keeps step with the whole, and
// no host needs longer to issue an iteration than the loop takes for it: see steady_state.h.
bool keeps_step(const CutRun& cut, const std::vector<std::int64_t>& grown, std::int64_t iterations) {
  const std::vector<LoopEnd>& ends = cut.run.loop_ends;
  std::size_t at = 0, measure = 1 + cut.run.accounts.size() * kPerActor;
  for (std::size_t actor = 0; actor < cut.run.accounts.size(); ++actor) {
    std::int64_t before = 0;
    for (const std::int64_t host : cut.host_of_loops[actor]) {
      if (at == ends.size() || ends[at].actor != actor) return false;
      const std::uint32_t loop = ends[at].loop;
      const std::int64_t later = grown[measure];
      for (; at < ends.size() && ends[at].actor == actor && ends[at].loop == loop; ++at, ++measure)
        if (grown[measure] != later) return false;
      if (host * iterations > later - before) return false;
      before = later;
    }
    if (before != grown.front()) return false;
  }
  return true;
}

SteadyRun from_measures(CutRun cut, const std::vector<std::int64_t>& m) {
  SteadyRun steady;
  const std::size_t actors = cut.run.accounts.size();
  steady.step_time = m.front();
  std::size_t at = 1;
  for (std::size_t a = 0; a < actors; ++a, at += kPerActor) {
    const auto from = m.begin() + static_cast<std::ptrdiff_t>(at);
    std::copy_n(from, kShares, steady.shares.emplace_back().begin());
    std::copy_n(from + kShares, kGroups, steady.communication.emplace_back().begin());
    steady.communication_any.push_back(m[at + kShares + kGroups]);
    steady.compute_alone.push_back(m[at + kShares + kGroups + 1]);
  }
  steady.run = std::move(cut.run);
  return steady;
}

struct Attempt {
  std::optional<SteadyRun> steady;
  std::uint64_t events_an_iteration = 0;
};

// Three cuts d iterations apart lie on a line, and a fourth, about twice as long, lies on it too.
Attempt extrapolated(std::int64_t skip, std::int64_t d, std::int64_t further, const Simulate& simulate) {
  const CutRun a = simulate(skip), b = simulate(skip - d), c = simulate(skip - 2 * d);
  Attempt attempt;
  if (b.run.events > a.run.events)
    attempt.events_an_iteration = (b.run.events - a.run.events) / static_cast<std::uint64_t>(d);
  if (a.run.deadlocked || b.run.deadlocked || c.run.deadlocked) return attempt;
  if (!alike(a.run, b.run) || !alike(b.run, c.run)) return attempt;
  const std::vector<std::int64_t> from = measures(c), grown = growth(measures(b), from);
  if (grown != growth(measures(a), measures(b)) || !keeps_step(c, grown, d)) return attempt;
  CutRun far = simulate(skip - 2 * d - further * d);
  if (far.run.deadlocked || !alike(c.run, far.run)) return attempt;
  std::vector<std::int64_t> m = measures(far);
  for (std::size_t i = 0; i < m.size(); ++i)
    if (m[i] != from[i] + further * grown[i]) return attempt;
  const std::int64_t left = skip / d - 2 - further;
  for (std::size_t i = 0; i < m.size(); ++i) m[i] += left * grown[i];
  attempt.steady = from_measures(std::move(far), m);
  attempt.steady->skipped = left * d;
  return attempt;
}

// The line through two cuts. Every number is rounded down; what the shares of an actor then lack to the step
// time, a few ps, goes to the largest.
std::optional<SteadyRun> averaged(std::int64_t skip, std::int64_t apart, const Simulate& simulate) {
  const CutRun near = simulate(skip);
  CutRun far = simulate(skip - apart);
  if (near.run.deadlocked || far.run.deadlocked) return std::nullopt;
  __extension__ using Wide = __int128;
  const std::int64_t left = skip - apart;
  std::vector<std::int64_t> m = measures(far);
  const std::vector<std::int64_t> grown = growth(measures(near), m);
  for (std::size_t i = 0; i < grown.size(); ++i)
    m[i] = std::max<std::int64_t>(m[i] + static_cast<std::int64_t>(Wide{grown[i]} * left / apart), 0);
  SteadyRun steady = from_measures(std::move(far), m);
  for (auto& shares : steady.shares) {
    const std::int64_t sum = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
    *std::max_element(shares.begin(), shares.end()) += steady.step_time - sum;
  }
  steady.skipped = left;
  steady.exact = false;
  return steady;
}

}  // namespace

SteadyRun simulate_steadily(const Cut& cut, bool extrapolate, std::uint64_t affordable_events,
                            const Simulate& simulate) {
  const std::uint64_t of_attempt = affordable_events / 4;
  const std::int64_t shortest = cut.slots / cut.microbatches_per_iteration + 3;
  std::uint64_t of_iteration = 0;  // events
  std::int64_t least = shortest;
  for (std::int64_t d = 1; extrapolate; least *= 2, d *= 2) {
    const std::int64_t further = least / d + 1;  // cuts keep least, + d, + 2 d, + 2 d + further d iterations
    const std::int64_t simulated = 5 * least + 7 * d;
    if (simulated > cut.iterations || of_iteration * static_cast<std::uint64_t>(simulated) > of_attempt)
      break;
    Attempt attempt = extrapolated((cut.iterations - least) / d * d, d, further, simulate);
    if (attempt.steady) return std::move(*attempt.steady);
    of_iteration = attempt.events_an_iteration;
  }
  if (of_iteration * static_cast<std::uint64_t>(cut.iterations) > affordable_events) {
    const auto kept = std::max(static_cast<std::int64_t>(of_attempt / of_iteration / 3), shortest);
    if (auto steady = averaged(cut.iterations - kept, kept, simulate)) return std::move(*steady);
  }
  CutRun whole = simulate(0);
  const std::vector<std::int64_t> m = measures(whole);
  return from_measures(std::move(whole), m);
}

}  // namespace orrery::sim::engine
