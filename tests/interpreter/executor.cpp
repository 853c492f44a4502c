#include "tests/interpreter/executor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "tests/interpreter/communication.h"
#include "tests/interpreter/perform.h"
#include "tests/interpreter/placement.h"

namespace orrery::interpreter {
namespace {

constexpr std::size_t kNoMeeting = ~std::size_t{0};

}  // namespace

Executor::Executor(const schedule::Schedule& schedule, const RunOptions& options)
    : schedule_(schedule), options_(options), job_(job_of(schedule)), random_(options.seed) {
  losses_.assign(static_cast<std::size_t>(options.steps), 0.0);
  for (std::int64_t r = 0; r < schedule.world; ++r) {
    Rank rank;
    rank.memory = std::make_unique<RankMemory>(schedule.program_of(r), r);
    place_initial_state(schedule, r, *rank.memory);
    rank.issue = issue_all(schedule, r, *rank.memory, options.steps);
    rank.done.assign(rank.issue.ops.size(), false);
    rank.meeting.assign(rank.issue.ops.size(), kNoMeeting);
    ranks_.push_back(std::move(rank));
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    plan_meetings(r);
    ranks_[r].run.resize(ranks_[r].done.size());
    for (const std::vector<QueueEntry>& stream : ranks_[r].issue.streams)
      for (const QueueEntry& entry : stream)
        for (const std::size_t op : entry.ops) ranks_[r].run[op] = &entry;
    for (std::size_t s = 0; s < schedule::kStreams; ++s)
      if (!ranks_[r].issue.streams[s].empty()) queues_.push_back({.rank = r, .stream = s});
  }
}

std::size_t Executor::join(const MeetingKey& key, std::size_t members, std::size_t index, Handle handle) {
  const auto [found, fresh] = known_meetings_.emplace(key, meetings_.size());
  if (fresh) {
    meetings_.emplace_back();
    meetings_.back().members.resize(members);
    meetings_.back().present.assign(members, false);
    meetings_.back().missing = members;
  }
  meetings_[found->second].members[index] = handle;
  return found->second;
}

void Executor::plan_meetings(std::size_t rank) {
  std::map<MeetingKey, std::int64_t> issued;  // how many so far
  const auto id = static_cast<std::int64_t>(rank);
  for (std::size_t i = 0; i < ranks_[rank].issue.ops.size(); ++i) {
    const schedule::Op& op = *ranks_[rank].issue.ops[i].op;
    if (!schedule::is_communication(op.kind)) continue;
    if (op.group >= schedule_.groups.size() || !schedule_.groups[op.group].contains(id))
      throw ScheduleError(describe(ranks_[rank].issue, i) + ": the rank is not in the op's group");
    const schedule::Group& group = schedule_.groups[op.group];
    const std::int64_t index = group.index(id);
    if (schedule::is_collective(op.kind)) {
      const std::int64_t k = issued[{op.group, 0, 0, 0, 0}]++;
      ranks_[rank].meeting[i] = join({op.group, group.first(id), -1, -1, k}, static_cast<std::size_t>(group.size),
                                     static_cast<std::size_t>(index), {rank, i});
      continue;
    }
    const std::int64_t other = group.member(id, ((index + op.peer) % group.size + group.size) % group.size);
    const bool sends = op.kind == schedule::OpKind::send;
    const std::int64_t from = sends ? id : other, to = sends ? other : id;
    const std::int64_t k = issued[{op.group, from, to, op.site, sends ? 1 : 2}]++;
    const auto tagged = static_cast<std::int64_t>(op.site) + 256 * k;
    ranks_[rank].meeting[i] = join({op.group, from, to, 0, tagged}, 2, sends ? 0 : 1, {rank, i});
  }
}

const QueueEntry* Executor::head(const Queue& queue) const {
  const std::vector<QueueEntry>& entries = ranks_[queue.rank].issue.streams[queue.stream];
  return queue.next < entries.size() ? &entries[queue.next] : nullptr;
}

bool Executor::may_start(const Queue& queue) const {
  const QueueEntry* const entry = head(queue);
  if (entry == nullptr || queue.started) return false;
  const Rank& rank = ranks_[queue.rank];
  for (const std::size_t op : entry->ops)
    for (const std::size_t event : rank.issue.ops[op].after)
      if (!rank.happened(event)) return false;
  return true;
}

bool Executor::Rank::happened(std::size_t op) const {
  return std::all_of(run[op]->ops.begin(), run[op]->ops.end(), [&](std::size_t each) { return done[each]; });
}

bool Executor::advance(Queue& queue) {
  const QueueEntry* const entry = head(queue);
  if (entry == nullptr || !queue.started) return false;
  for (const std::size_t op : entry->ops)
    if (!ranks_[queue.rank].done[op]) return false;
  ++queue.next;
  queue.started = false;
  return true;
}

void Executor::start(Queue& queue) {
  queue.started = true;
  for (const std::size_t op : head(queue)->ops) start_op({queue.rank, op});
}

void Executor::start_op(Handle handle) {
  const Rank& rank = ranks_[handle.rank];
  std::string doing = describe(rank.issue, handle.op);
  try {
    const std::size_t at = rank.meeting[handle.op];
    if (at == kNoMeeting) {
      const OpContext context(job_, rank.issue, handle.op);
      const double loss = perform(context);
      if (context.index_in(schedule::kTensor) == 0) losses_[static_cast<std::size_t>(context.issued().step)] += loss;
      return finish(handle);
    }
    Meeting& meeting = meetings_[at];
    if (--meeting.missing > 0) return;
    std::vector<OpContext> members;
    for (const Handle& m : meeting.members) members.emplace_back(job_, ranks_[m.rank].issue, m.op);
    for (std::size_t i = 1; i < members.size(); ++i)
      doing += "\n  with " + describe(ranks_[meeting.members[i].rank].issue, meeting.members[i].op);
    communicate(members);
    for (const Handle& m : meeting.members) finish(m);
  } catch (const ScheduleError& error) {
    throw ScheduleError(fmt::format("{}\n  {}", error.what(), doing));
  } catch (const InternalError& error) {
    throw ScheduleError(fmt::format("{}\n  {}", error.what(), doing));
  }
}

void Executor::finish(Handle handle) {
  Rank& rank = ranks_[handle.rank];
  rank.done[handle.op] = true;
  for (const BoundView& bound : rank.issue.ops[handle.op].views)
    if (bound.view->frees) bound.allocation->release();
}

std::size_t Executor::choose(const std::vector<std::size_t>& ready) {
  switch (options_.order) {
    case Order::rank_first: return ready.front();
    case Order::rank_last: return ready.back();
    case Order::random: return ready[random_() % ready.size()];
    case Order::round_robin: break;
  }
  const auto next = std::upper_bound(ready.begin(), ready.end(), turn_);
  turn_ = next == ready.end() ? ready.front() : *next;
  return turn_;
}

void Executor::run() {
  for (;;) {
    std::vector<std::size_t> ready;
    bool all_done = true;
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      while (advance(queues_[q])) continue;
      if (head(queues_[q]) != nullptr) all_done = false;
      if (may_start(queues_[q])) ready.push_back(q);
    }
    if (all_done) return;
    if (ready.empty()) report_deadlock();
    start(queues_[choose(ready)]);
  }
}

std::string Executor::waits_for(const Queue& queue) const {
  const Rank& rank = ranks_[queue.rank];
  for (const std::size_t op : head(queue)->ops) {
    if (rank.done[op]) continue;
    std::string line = "\n  " + describe(rank.issue, op);
    if (queue.started) {
      line += fmt::format(" has started and waits for {} more members", meetings_[rank.meeting[op]].missing);
      return line;
    }
    for (const std::size_t event : rank.issue.ops[op].after)
      if (!rank.happened(event)) line += "\n    waits for " + describe(rank.issue, event);
    return line;
  }
  return {};
}

void Executor::report_deadlock() const {
  std::string text = "deadlock:";
  for (const Queue& queue : queues_)
    if (head(queue) != nullptr) text += waits_for(queue);
  throw ScheduleError(text);
}

}  // namespace orrery::interpreter
