#include "runtime/comm/thread_side.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::runtime {
namespace {

constexpr std::int64_t kKeptBytes = 4096;  // that a seat of a collective brings, at most, to be copied into the meeting

// Whether it does is the same on all seats that fit together.
bool keeps(const CommCall& call, const CallDigest& digest) {
  return call.kind != CommKind::send && call.kind != CommKind::recv && call.kind != CommKind::barrier &&
         digest.elements * bytes_of(call.element) <= kKeptBytes;
}

// Marks that this thread touches others' memory, unless somebody has broken the meeting off.
class Reading {
 public:
  explicit Reading(Meeting& meeting) : meeting_(meeting) { meeting_.readers.fetch_add(1); }
  ~Reading() { meeting_.readers.fetch_sub(1); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  bool allowed() const { return !meeting_.broken.load(); }

 private:
  Meeting& meeting_;
};

}  // namespace

ThreadSide::ThreadSide(CommCall call, Line& line, const std::vector<int>& ranks, const std::vector<ThreadBell*>& bells,
                       int seat)
    : call_(std::move(call)),
      plan_{call_.kind, static_cast<int>(ranks.size())},
      seat_(static_cast<std::size_t>(seat)),
      line_(&line),
      digest_(digest_of(call_, ranks[seat_], 0)),
      keeps_(keeps(call_, digest_)),
      reduction_{call_.element, call_.reduce, call_.adds},
      element_bytes_(bytes_of(call_.element)),
      sources_(ranks.size()) {
  plan_.whole = keeps_ && call_.kind == CommKind::all_reduce;
  const int rounds = plan_.rounds();
  const auto gives_at_end = [&](int any) { return !keeps_ && rounds > 0 && plan_.gives_anything(rounds - 1, any); };
  for (int other = 0; other < plan_.seats; ++other) {
    ThreadBell* const bell = bells[static_cast<std::size_t>(other)];
    for (int r = 0; r < rounds; ++r)
      if (plan_.takes_anything(r, other)) ++takers_[static_cast<std::size_t>(r)];
    if (other == seat) continue;
    all_others_.push_back(bell);
    if (plan_.takes_anything(0, other) || !gives_at_end(other)) wait_for_all_to_come_.push_back(bell);
    for (int r = 0; r < rounds; ++r)
      if (r + 1 < rounds || gives_at_end(other)) wait_for_round_[static_cast<std::size_t>(r)].push_back(bell);
  }
  for (int r = 0; r < rounds; ++r) takes_[static_cast<std::size_t>(r)] = plan_.takes_anything(r, seat);
  gives_at_end_ = gives_at_end(seat);
}

void ThreadSide::start(std::uint64_t sequence) {
  CHECK(meeting_ == nullptr, call_.what, sequence);
  digest_.sequence = sequence;
  round_ = taken_from_ = 0;
  took_ = opened_ = false;
  meeting_ = &line_->come(seat_, digest_, sources_of(call_), keeps_);
  if (meeting_->broken.load()) {
    ring(all_others_);
  } else if (meeting_->complete.load()) {
    ring(wait_for_all_to_come_);
  }
}

bool ThreadSide::advance(std::int64_t& budget) {
  if (meeting_ == nullptr) return true;
  Meeting& meeting = *meeting_;
  if (meeting.broken.load()) fail();
  if (!meeting.complete.load(std::memory_order_acquire)) return false;
  const auto finished = [&](int round) {
    const auto r = static_cast<std::size_t>(round);
    return meeting.finished[r].load(std::memory_order_acquire) == takers_[r];
  };
  for (; round_ < plan_.rounds(); ++round_, took_ = false) {
    if (round_ > 0 && !finished(round_ - 1)) return false;
    if (took_ || !takes_[static_cast<std::size_t>(round_)]) continue;
    if (!take(round_, budget)) return false;
  }
  if (gives_at_end_ && !finished(plan_.rounds() - 1)) return false;
  meeting_ = nullptr;
  line_->leave(meeting);
  return true;
}

bool ThreadSide::take(int round, std::int64_t& budget) {
  {
    const Reading reading(*meeting_);
    if (!reading.allowed()) fail();
    while (!took_ && budget > 0) took_ = take_some(round, budget);
  }
  if (!took_) return false;
  const auto r = static_cast<std::size_t>(round);
  if (meeting_->finished[r].fetch_add(1) + 1 == takers_[r]) ring(wait_for_round_[r]);
  return true;
}

// Takes from one seat, or from all at once where they are combined. True when nothing is left to take.
bool ThreadSide::take_some(int round, std::int64_t& budget) {
  if (!opened_) open_cursors(round);
  const bool reduces = plan_.reduces(round);
  const std::int64_t cost = element_bytes_ * (reduces ? plan_.seats : 1);
  const std::int64_t count = std::min(target_.left(), std::max<std::int64_t>(1, budget / cost));
  if (reduces) {
    reduce_elements(reduction_, sources_, target_, count);
  } else {
    copy_elements(sources_.front(), target_, count, element_bytes_);
  }
  budget -= count * cost;
  if (target_.left() > 0) return false;
  opened_ = false;
  if (!reduces && ++taken_from_ < plan_.seats) return false;
  taken_from_ = 0;
  return true;
}

void ThreadSide::open_cursors(int round) {
  const int seat = static_cast<int>(seat_);
  const auto source = [&](int from) {
    const Chunk chunk = call_.elements ? counted_source(call_, seat, from) : plan_.source(round, seat, from);
    return FlatCursor(meeting_->seats[static_cast<std::size_t>(from)].sources, chunk, element_bytes_);
  };
  const auto target = [&](int from) {
    return call_.elements ? counted_target(call_, seat, from) : plan_.target(round, seat, from);
  };
  opened_ = true;
  if (plan_.reduces(round)) {
    for (int from = 0; from < plan_.seats; ++from) sources_[static_cast<std::size_t>(from)] = source(from);
    target_ = FlatCursor(targets_of(call_), target(seat), element_bytes_);
    return;
  }
  // Beginning with the next seat, so that not all read the same memory.
  const int from = (seat + 1 + taken_from_) % plan_.seats;
  target_ = {};
  if (!plan_.takes(round, seat, from)) return;
  sources_.front() = source(from);
  target_ = FlatCursor(targets_of(call_), target(from), element_bytes_);
}

void ThreadSide::give_up() {
  if (meeting_ == nullptr) return;
  line_->give_up(*meeting_, seat_);
  ring(all_others_);
  meeting_ = nullptr;
}

void ThreadSide::ring(const std::vector<ThreadBell*>& bells) {
  for (ThreadBell* const bell : bells) bell->ring();
}

void ThreadSide::fail() { throw CommError(line_->error_of(*meeting_)); }

}  // namespace orrery::runtime
