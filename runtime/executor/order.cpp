// Entries are taken in an order that respects stream order and waits, as the lanes would run them. Two steps are walked, the
// second being the steady one; in the first, what the step before left is not known and counts as not ended.
#include "runtime/executor/order.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace orrery::runtime {
namespace {

constexpr std::size_t kStreams = schedule::kStreams;
constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::min() / 2;

void join(Clock& into, const Clock& other) {
  for (std::size_t s = 0; s < kStreams; ++s) into[s] = std::max(into[s], other[s]);
}

class Walk {
 public:
  explicit Walk(const StepPlan& plan) : plan_(plan) {
    for (Clock& c : stream_) c.fill(kNever);
    for (std::size_t s = 0; s < kStreams; ++s) entries_[s] = static_cast<std::int32_t>(plan.streams[s].size());
    ended_.resize(plan.ops.size());
    start_.resize(plan.ops.size());
  }

  std::vector<Clock> run() {
    step(true);
    previous_ = ended_;
    for (Clock& c : previous_) shift(c);
    for (Clock& c : stream_) shift(c);
    step(false);
    return std::move(start_);
  }

 private:
  void shift(Clock& c) const {
    for (std::size_t s = 0; s < kStreams; ++s)
      if (c[s] != kNever) c[s] -= entries_[s];
  }

  void step(bool first) {
    std::array<std::size_t, kStreams> next{};
    done_.assign(plan_.ops.size(), false);
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t s = 0; s < kStreams; ++s)
        while (next[s] < plan_.streams[s].size() && may_start(plan_.streams[s][next[s]])) {
          take(s, static_cast<std::int32_t>(next[s]), first);
          ++next[s];
          progress = true;
        }
    }
    for (std::size_t s = 0; s < kStreams; ++s) CHECK(next[s] == plan_.streams[s].size(), "the plan waits for itself", s);
  }

  bool may_start(const QueueEntry& entry) const {
    for (const std::uint32_t op : plan_.ops_of(entry))
      for (const PlannedWait& wait : plan_.waits_of(plan_.ops[op]))
        if (!wait.previous_step && !done_[wait.op]) return false;
    return true;
  }

  void take(std::size_t stream, std::int32_t number, bool first) {
    const QueueEntry& entry = plan_.streams[stream][static_cast<std::size_t>(number)];
    Clock clock = stream_[stream];
    for (const std::uint32_t op : plan_.ops_of(entry))
      for (const PlannedWait& wait : plan_.waits_of(plan_.ops[op])) {
        if (!wait.previous_step) join(clock, ended_[wait.op]);
        else if (!first) join(clock, previous_[wait.op]);
      }
    for (const std::uint32_t op : plan_.ops_of(entry)) start_[op] = clock;
    clock[stream] = number + 1;
    stream_[stream] = clock;
    for (const std::uint32_t op : plan_.ops_of(entry)) {
      ended_[op] = clock;
      done_[op] = true;
    }
  }

  const StepPlan& plan_;
  std::array<Clock, kStreams> stream_{};
  std::array<std::int32_t, kStreams> entries_{};
  std::vector<Clock> start_, ended_, previous_;
  std::vector<bool> done_;
};

}  // namespace

Order::Order(const StepPlan& plan) : plan_(plan), at_start_(Walk(plan).run()) {}

bool Order::ends_before(std::uint32_t before, std::uint32_t after) const {
  const PlannedOp& op = plan_.ops[before];
  return at_start_[after][static_cast<std::size_t>(op.op->stream)] > static_cast<std::int32_t>(op.entry);
}

bool Order::ended_in_previous_step(std::uint32_t before, std::uint32_t after) const {
  const PlannedOp& op = plan_.ops[before];
  const auto stream = static_cast<std::size_t>(op.op->stream);
  const auto entries = static_cast<std::int32_t>(plan_.streams[stream].size());
  return at_start_[after][stream] > static_cast<std::int32_t>(op.entry) - entries;
}

}  // namespace orrery::runtime
