#include "runtime/comm/thread_meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/check.h"

namespace orrery::runtime {

namespace {

// Copies the sources, one piece behind the other, and lets them be the copies. The space stays for the next time.
void keep(MeetingSeat& seat, std::int64_t element_bytes) {
  FlatCursor from(seat.sources, {}, element_bytes);
  seat.kept.resize(static_cast<std::size_t>(from.left() * element_bytes));
  seat.kept_pieces.clear();
  std::byte* place = seat.kept.data();
  for (const Piece& piece : seat.sources) {
    seat.kept_pieces.push_back({place, 1, piece.count(), piece.count()});
    place += piece.count() * element_bytes;
  }
  FlatCursor to(seat.kept_pieces, {}, element_bytes);
  copy_elements(from, to, from.left(), element_bytes);
  seat.sources = seat.kept_pieces;
}

}  // namespace

Meeting& Line::open(std::uint64_t sequence) {
  for (const std::unique_ptr<Meeting>& meeting : open_)
    if (meeting->sequence == sequence) return *meeting;
  if (closed_.empty()) closed_.push_back(std::make_unique<Meeting>(seats_));
  open_.push_back(std::move(closed_.back()));
  closed_.pop_back();
  open_.back()->sequence = sequence;
  return *open_.back();
}

Meeting& Line::come(std::size_t seat, const CallDigest& digest, std::span<const Piece> sources, bool keeps) {
  const std::lock_guard lock(mutex_);
  Meeting& meeting = open(digest.sequence);
  MeetingSeat& mine = meeting.seats[seat];
  CHECK(mine.digest == nullptr, digest.what.data(), digest.sequence);
  mine.digest = &digest;
  mine.sources = sources;
  if (keeps) keep(mine, bytes_of(digest.element));
  if (++meeting.come < seats_ || meeting.broken.load()) return meeting;
  for (const MeetingSeat& other : meeting.seats) {
    meeting.error = misfit(*meeting.seats.front().digest, *other.digest);
    if (meeting.error.empty()) continue;
    meeting.broken.store(true);
    break;
  }
  meeting.complete.store(true);
  return meeting;
}

void Line::leave(Meeting& meeting) {
  const std::lock_guard lock(mutex_);
  ++meeting.left;
  close_if_empty(meeting);
}

void Line::give_up(Meeting& meeting, std::size_t seat) {
  {
    const std::lock_guard lock(mutex_);
    if (!meeting.broken.load())
      meeting.error = fmt::format("{} was given up on rank {}", meeting.seats[seat].digest->what.data(),
                                  meeting.seats[seat].digest->rank);
    meeting.broken.store(true);
  }
  while (meeting.readers.load() > 0) std::this_thread::yield();
  leave(meeting);
}

void Line::close_if_empty(Meeting& meeting) {
  if (meeting.left < seats_) return;
  const auto place = std::find_if(open_.begin(), open_.end(), [&](const auto& m) { return m.get() == &meeting; });
  for (MeetingSeat& seat : meeting.seats) seat.digest = nullptr;
  meeting.come = meeting.left = 0;
  meeting.error.clear();
  meeting.complete.store(false);
  meeting.broken.store(false);
  for (std::atomic<int>& count : meeting.finished) count.store(0);
  closed_.push_back(std::move(*place));
  *place = std::move(open_.back());
  open_.pop_back();
}

std::string Line::error_of(const Meeting& meeting) {
  const std::lock_guard lock(mutex_);
  return meeting.error;
}

}  // namespace orrery::runtime
