// A worklist of ranks: a rank's streams advance as far as they can; whoever ends a transfer wakes the ranks
// on its other sides. What is left over is explained by following "waits for" from any op that cannot end
// until an op comes up twice (the cycle) or there is nothing to wait for (a message without partner). Cost:
// O(ops x streams), 1 byte an op and rank.
#include "schedule/verify/deadlock.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "schedule/text/op.h"

namespace orrery::schedule {
namespace {

enum class State : std::uint8_t {
  waiting,
  started,
  met,
  ended
};  // met: its transfer is done, its group may not be

struct Cursor {
  std::size_t at = 0, end = 0;  // the running op or group, as positions in the stream
  bool started = false;
};

struct Runner {
  std::vector<State> states;
  std::array<Cursor, kStreams> cursors;
};

struct Place {
  std::uint32_t party = 0, step = 0;
  auto operator<=>(const Place&) const = default;
};

// Why an op has not ended, and on which other op that depends (none: on one that never comes).
struct Reason {
  std::string text;
  std::optional<Place> next;
};

class Execution {
 public:
  Execution(const Parties& parties, SendSemantics sends) : parties_(parties), sends_(sends) {
    for (std::uint32_t i = 0; i < parties_.ranks.size(); ++i) {
      runners_.push_back({std::vector<State>(parties_.walk(i).steps.size(), State::waiting), {}});
      queued_.push_back(1);
      queue_.push_back(i);
    }
    index_watchers();
  }

  void run() {
    while (!queue_.empty()) {
      const std::uint32_t party = queue_.front();
      queue_.pop_front();
      queued_[party] = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t s = 0; s < kStreams; ++s)
          while (advance(party, s)) moved = true;
      }
    }
  }

  std::optional<Place> first_stuck() const {
    for (std::uint32_t i = 0; i < runners_.size(); ++i)
      for (std::size_t s = 0; s < kStreams; ++s)
        if (const auto& steps = parties_.walk(i).streams[s]; runners_[i].cursors[s].at < steps.size())
          return Place{i, steps[runners_[i].cursors[s].at]};
    return std::nullopt;
  }

  std::size_t stuck_ranks() const {
    std::size_t count = 0;
    for (const Runner& r : runners_)
      count +=
          std::any_of(r.states.begin(), r.states.end(), [](State s) { return s != State::ended; }) ? 1 : 0;
    return count;
  }

  Reason reason(const Place& at) const;
  std::string text(const Place& at) const {
    return fmt::format("rank {}: {}", parties_.ranks[at.party].rank,
                       parties_.walk(at.party).describe(at.step));
  }

 private:
  State& state(std::uint32_t party, std::uint32_t step) { return runners_[party].states[step]; }
  State state(std::uint32_t party, std::uint32_t step) const { return runners_[party].states[step]; }

  void wake(std::uint32_t party) {
    if (queued_[party] != 0) return;
    queued_[party] = 1;
    queue_.push_back(party);
  }

  bool advance(std::uint32_t party, std::size_t stream) {
    const Walk& walk = parties_.walk(party);
    const std::vector<std::uint32_t>& steps = walk.streams[stream];
    Cursor& c = runners_[party].cursors[stream];
    if (c.at == steps.size()) return false;
    if (!c.started) {
      c.end = c.at + 1;
      while (c.end < steps.size() && walk.op(steps[c.end - 1]).grouped) ++c.end;
      for (std::size_t i = c.at; i < c.end; ++i)
        if (unmet(party, steps[i])) return false;
      c.started = true;
      for (std::size_t i = c.at; i < c.end; ++i) start(party, steps[i]);
    }
    for (std::size_t i = c.at; i < c.end; ++i)
      if (state(party, steps[i]) != State::met) return false;
    for (std::size_t i = c.at; i < c.end; ++i) state(party, steps[i]) = State::ended;
    c.at = c.end;
    c.started = false;
    return true;
  }

  // The first op on this rank that must end before `step` may start.
  std::optional<std::uint32_t> unmet(std::uint32_t party, std::uint32_t step) const {
    const Walk& walk = parties_.walk(party);
    const Step& s = walk.steps[step];
    if (s.gate != kNoStep && state(party, s.gate) != State::ended) return s.gate;
    for (std::uint32_t i = s.first_after; i < s.first_after + s.after_count; ++i)
      if (state(party, walk.after[i]) != State::ended) return walk.after[i];
    return std::nullopt;
  }

  void start(std::uint32_t party, std::uint32_t step) {
    const PortPlace place = parties_.ports(party).of_step[step];
    state(party, step) = State::started;
    if (place.port == kNoStep) {
      state(party, step) = State::met;
      return;
    }
    settle(party, step);
    for (const Side& side : parties_.ranks[party].sides[place.port])
      if (const auto other = partner(side, place.ordinal);
          other && state(side.party, *other) == State::started)
        settle(side.party, *other);
    const auto watchers = watchers_.find({party, place.port});
    if (watchers == watchers_.end()) return;
    for (const std::uint32_t other : watchers->second)
      if (const auto there = same_number(other, party, place)) settle(other, *there);
  }

  static std::optional<std::uint32_t> number(const std::vector<Port>& ports, std::uint32_t port,
                                             std::uint32_t ordinal) {
    if (port == kNoStep || ordinal >= ports[port].steps.size()) return std::nullopt;
    return ports[port].steps[ordinal];
  }
  std::optional<std::uint32_t> partner(const Side& side, std::uint32_t ordinal) const {
    return number(parties_.ports(side.party).ports, side.port, ordinal);
  }

  void index_watchers() {
    for (std::uint32_t i = 0; i < parties_.ranks.size(); ++i)
      for (std::uint32_t n = 0; n < parties_.ranks[i].sides.size(); ++n)
        for (const Side& side : parties_.ranks[i].sides[n])
          if (parties_.ports(i).ports[n].kind == PortKind::collective)
            watchers_[{side.party, side.port}].push_back(i);
  }

  std::optional<std::uint32_t> same_number(std::uint32_t watcher, std::uint32_t party,
                                           const PortPlace& place) const {
    const std::uint8_t group = parties_.ports(party).ports[place.port].group;
    const std::vector<Port>& ports = parties_.ports(watcher).ports;
    for (std::uint32_t n = 0; n < ports.size(); ++n)
      if (ports[n].kind == PortKind::collective && ports[n].group == group) {
        const auto step = number(ports, n, place.ordinal);
        return step && state(watcher, *step) == State::started ? step : std::nullopt;
      }
    return std::nullopt;
  }

  // A started transfer is done when its other sides have started.
  void settle(std::uint32_t party, std::uint32_t step) {
    if (state(party, step) != State::started || missing_side(party, step)) return;
    state(party, step) = State::met;
    wake(party);
  }

  // The side that a started transfer still waits for.
  std::optional<Side> missing_side(std::uint32_t party, std::uint32_t step) const {
    const PortPlace place = parties_.ports(party).of_step[step];
    const Port& port = parties_.ports(party).ports[place.port];
    if (port.kind == PortKind::send && sends_ == SendSemantics::buffered) return std::nullopt;
    for (const Side& side : parties_.ranks[party].sides[place.port]) {
      const auto other = partner(side, place.ordinal);
      if (!other || state(side.party, *other) == State::waiting) return side;
    }
    return std::nullopt;
  }

  const Parties& parties_;
  SendSemantics sends_;
  std::vector<Runner> runners_;
  std::vector<char> queued_;
  std::deque<std::uint32_t> queue_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>>
      watchers_;  // by collective: on whose sides it is
};

Reason Execution::reason(const Place& at) const {
  const Walk& walk = parties_.walk(at.party);
  const auto stream = static_cast<std::size_t>(walk.op(at.step).stream);
  const Cursor& c = runners_[at.party].cursors[stream];
  const std::vector<std::uint32_t>& steps = walk.streams[stream];
  const auto here = [&](std::uint32_t step) { return Place{at.party, step}; };
  const auto position =
      static_cast<std::size_t>(std::lower_bound(steps.begin(), steps.end(), at.step) - steps.begin());
  if (position >= std::max(c.end, c.at + 1))
    return {fmt::format("waits for its turn on stream {}, behind {}", name(walk.op(at.step).stream),
                        walk.describe(steps[c.at])),
            here(steps[c.at])};
  if (!c.started) {
    for (std::size_t i = position; i != position + (c.end - c.at);
         ++i) {  // itself first, then the others of its group
      const std::uint32_t step = steps[c.at + (i - c.at) % (c.end - c.at)];
      const auto blocker = unmet(at.party, step);
      if (!blocker) continue;
      if (step != at.step) return {fmt::format("is grouped with {}", walk.describe(step)), here(step)};
      const bool host = walk.op(*blocker).kind == OpKind::host_wait;
      return {fmt::format("waits for {}{}", host ? "the host, which is in " : "the event of ",
                          walk.describe(*blocker)),
              here(*blocker)};
    }
  }
  if (state(at.party, at.step) == State::met)
    for (std::size_t i = c.at; i < c.end; ++i)
      if (state(at.party, steps[i]) != State::met)
        return {fmt::format("is grouped with {}", walk.describe(steps[i])), here(steps[i])};
  const auto side = missing_side(at.party, at.step);
  if (!side) return {"could go on", std::nullopt};
  const std::int64_t rank = parties_.ranks[side->party].rank;
  const OpKind kind = walk.op(at.step).kind;
  const std::string does = kind == OpKind::send ? "receive it" : kind == OpKind::recv ? "send it" : "join it";
  const auto other = partner(*side, parties_.ports(at.party).of_step[at.step].ordinal);
  if (!other) return {fmt::format("waits for rank {} to {}, which it never does", rank, does), std::nullopt};
  return {fmt::format("waits for rank {} to {}", rank, does), Place{side->party, *other}};
}

}  // namespace

void check_deadlock(const Parties& parties, SendSemantics sends, Findings& findings) {
  Execution execution(parties, sends);
  execution.run();
  std::optional<Place> at = execution.first_stuck();
  if (!at) return;
  std::map<Place, std::size_t> seen;
  std::vector<std::string> lines;
  std::size_t first = 0;
  while (at) {
    const auto [known, is_new] = seen.emplace(*at, lines.size());
    if (!is_new) {
      first = known->second;
      break;
    }
    const Reason reason = execution.reason(*at);
    lines.push_back(fmt::format("{} {}", execution.text(*at), reason.text));
    at = reason.next;
  }
  const bool cycle = at.has_value();
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(first));
  findings.add(
      fmt::format("deadlock: {} of {} ranks cannot finish ({} sends); {}", execution.stuck_ranks(),
                  parties.ranks.size(), sends == SendSemantics::rendezvous ? "rendezvous" : "buffered",
                  cycle ? "these wait for each other:" : "this is what the first one waits for:"),
      std::move(lines));
}

}  // namespace orrery::schedule
