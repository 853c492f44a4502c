// One call of a transfer between threads: this rank's seat, and how far it is. Nobody copies on behalf of another: a
// seat takes what it needs from the others' memory once all have come, and is over when it has taken everything and
// nobody will take anything more from it.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/comm/reduction.h"
#include "runtime/comm/thread_bell.h"
#include "runtime/comm/thread_meeting.h"

namespace orrery::runtime {

class ThreadSide {
 public:
  // `ranks` and `bells`: by seat.
  ThreadSide(CommCall call, Line& line, const std::vector<int>& ranks, const std::vector<ThreadBell*>& bells, int seat);

  void start(std::uint64_t sequence);
  // Works for at most `budget` bytes, which it lowers. True when over.
  bool advance(std::int64_t& budget);
  void give_up();

 private:
  bool take(int round, std::int64_t& budget);
  bool take_some(int round, std::int64_t& budget);
  void open_cursors(int round);
  void ring(const std::vector<ThreadBell*>& bells);
  [[noreturn]] void fail();

  CommCall call_;
  Plan plan_;
  std::size_t seat_;
  Line* line_;
  CallDigest digest_;
  bool keeps_;  // what it brings is copied
  Reduction reduction_;
  std::int64_t element_bytes_;

  // Fixed by the plan, by round: how many seats take something; whether this one does; who waits for what.
  std::array<int, kMaxRounds> takers_{};
  std::array<bool, kMaxRounds> takes_{};
  bool gives_at_end_ = false;
  std::vector<ThreadBell*> wait_for_all_to_come_, all_others_;
  std::array<std::vector<ThreadBell*>, kMaxRounds> wait_for_round_;

  Meeting* meeting_ = nullptr;  // under way
  int round_ = 0;
  bool took_ = false;    // all of this round
  bool opened_ = false;  // the cursors, for this round (reducing) or for what is taken from one seat
  int taken_from_ = 0;   // copying: seats that are done with
  std::vector<FlatCursor> sources_;
  FlatCursor target_;
};

}  // namespace orrery::runtime
