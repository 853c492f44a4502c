// Where ranks that are threads meet. A Line is one numbering: the collectives of a group, or the messages from one
// member to another in one channel. A Meeting is one number of it: each seat comes with pointers to its memory, the
// last to come compares all digests, and from then on the seats work on each other's memory and only count:
//
//   complete        all have come; seats and digests do not change any more
//   finished[r]     how many seats have taken what they take in round r
//   broken          a misfit, or somebody gave up: everybody throws `error`
//   readers         who touches others' memory at this instant; giving up waits until it is 0
//
// What a seat of a small collective brings is copied into the meeting, so that nobody needs its memory any more; then
// one wait is enough, where two (all_reduce: three) are needed to know that everybody has read.
//
// Coming and leaving take the line's mutex; everything between is atomics. Few meetings of a line are open at once
// (each stream of a rank is in order), so they are searched one by one. Closed ones are used again: nothing is
// allocated in the steady state.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/call_check.h"
#include "runtime/comm/rounds.h"

namespace orrery::runtime {

struct MeetingSeat {
  const CallDigest* digest = nullptr;  // null: has not come
  std::span<const Piece> sources;      // of the rank's memory, or of what is kept
  std::vector<Piece> kept_pieces;
  std::vector<std::byte> kept;
};

struct Meeting {
  explicit Meeting(std::size_t seat_count) : seats(seat_count) {}

  std::uint64_t sequence = 0;
  std::vector<MeetingSeat> seats;
  std::size_t come = 0, left = 0;  // under the line's mutex, as `error`
  std::string error;
  std::atomic<bool> complete{false}, broken{false};
  std::array<std::atomic<int>, kMaxRounds> finished{};
  std::atomic<int> readers{0};
};

class Line {
 public:
  explicit Line(std::size_t seats) : seats_(seats) {}

  // Takes the seat in the meeting of the digest's number. `keeps`: copies what the sources hold. A misfit breaks it.
  Meeting& come(std::size_t seat, const CallDigest& digest, std::span<const Piece> sources, bool keeps);
  // This seat is done with it, and nobody needs its memory.
  void leave(Meeting& meeting);
  // This seat ends without having finished. Returns when nobody touches its memory.
  void give_up(Meeting& meeting, std::size_t seat);
  std::string error_of(const Meeting& meeting);

 private:
  Meeting& open(std::uint64_t sequence);
  void close_if_empty(Meeting& meeting);

  std::size_t seats_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Meeting>> open_, closed_;
};

}  // namespace orrery::runtime
