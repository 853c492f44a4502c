// See steady_state.h. A run is a vector of integers here; periodic means that three of them lie on a line.
#include "sim/engine/steady_state.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::sim::engine {
namespace {

using schedule::Stream;

// step time | per actor: shares, communication, any, compute alone, host time | loop ends
constexpr std::size_t kPerActor = kShares + 4 + 3;

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

bool same_loop_ends(const Run& a, const Run& b) {
  return std::equal(a.loop_ends.begin(), a.loop_ends.end(), b.loop_ends.begin(), b.loop_ends.end(),
                    [](const LoopEnd& x, const LoopEnd& y) {
                      return x.actor == y.actor && x.loop == y.loop && x.stream == y.stream;
                    });
}

// Nothing grows faster than what it will have to keep up with.
bool nothing_catches_up(const Run& run, const std::vector<std::int64_t>& growth) {
  const std::int64_t step = growth.front();
  for (std::size_t a = 0; a < run.accounts.size(); ++a)
    if (growth[a * kPerActor + kPerActor] > step) return false;  // host time
  const std::size_t first = 1 + run.accounts.size() * kPerActor;
  std::int64_t of_compute = step;
  for (std::size_t i = 0; i < run.loop_ends.size(); ++i) {
    const LoopEnd& end = run.loop_ends[i];
    const bool new_loop = i == 0 || run.loop_ends[i - 1].actor != end.actor || run.loop_ends[i - 1].loop != end.loop;
    if (new_loop) {
      std::size_t last = i;
      bool is_last_loop = true;
      of_compute = step;
      for (; last < run.loop_ends.size() && run.loop_ends[last].actor == end.actor; ++last) {
        is_last_loop &= run.loop_ends[last].loop == end.loop;
        if (run.loop_ends[last].loop == end.loop &&
            run.loop_ends[last].stream == static_cast<std::uint32_t>(Stream::compute))
          of_compute = growth[first + last];
      }
      if (is_last_loop) of_compute = step;
    }
    if (growth[first + i] > of_compute) return false;
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
    std::copy_n(from + kShares, 4, steady.communication.emplace_back().begin());
    steady.communication_any.push_back(m[at + kShares + 4]);
    steady.compute_alone.push_back(m[at + kShares + 5]);
  }
  steady.run = std::move(cut.run);
  return steady;
}

}  // namespace

SteadyRun simulate_steadily(const Cut& cut, std::int64_t microbatches, bool extrapolate, const Simulate& simulate) {
  const std::int64_t per_iteration = cut.microbatches_per_iteration;
  std::int64_t least = cut.slots / per_iteration + 3;
  for (std::int64_t d = 1; extrapolate && 3 * (least + 2 * d) < cut.iterations; least *= 2, d *= 2) {
    const std::int64_t skip = (cut.iterations - least) / d * d;
    const CutRun a = simulate(skip), b = simulate(skip - d);
    CutRun c = simulate(skip - 2 * d);
    if (a.run.deadlocked || b.run.deadlocked || c.run.deadlocked) break;
    if (!same_loop_ends(a.run, b.run) || !same_loop_ends(b.run, c.run)) continue;
    std::vector<std::int64_t> m = measures(c);
    const std::vector<std::int64_t> grown = growth(measures(b), m);
    if (grown != growth(measures(a), measures(b)) || !nothing_catches_up(c.run, grown)) continue;
    const std::int64_t left = skip - 2 * d;
    CHECK(left % d == 0, left, d);
    for (std::size_t i = 0; i < m.size(); ++i) m[i] += left / d * grown[i];
    SteadyRun steady = from_measures(std::move(c), m);
    steady.microbatches_simulated = microbatches - left * per_iteration;
    return steady;
  }
  CutRun whole = simulate(0);
  const std::vector<std::int64_t> m = measures(whole);
  SteadyRun steady = from_measures(std::move(whole), m);
  steady.microbatches_simulated = microbatches;
  return steady;
}

}  // namespace orrery::sim::engine
