// Which ops of different ranks are sides of one message, and when all of them were ready. The rules are those
// of docs/schedule.md, section 8: the k-th collective that a rank issues in a group meets the k-th of every
// other member; the k-th send from a to b meets the k-th receive at b from a, counted for each group and
// direction. Counting is over the op ids of the schedule, not over records, so a record that is missing
// shifts nothing.
//
// Cost: a hash look-up a record; the counts are made once per distinct program.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/ir.h"
#include "schedule/trace.h"

namespace orrery::schedule {

// Equal for all sides of one message, and only for them, within a step.
struct MeetingKey {
  std::int64_t first = 0;      // collectives: the group's first member; messages: the sender
  std::int64_t receiver = -1;  // messages only
  std::uint32_t count = 0;     // k
  std::uint8_t group = 0;
  std::uint8_t direction = 0;  // messages: forward, backward or neither
  auto operator<=>(const MeetingKey&) const = default;
};

class MeetingTable {
 public:
  explicit MeetingTable(const Schedule& schedule);
  // None for an op that meets nobody. `op`: an op id of the rank's program.
  std::optional<MeetingKey> find(std::int64_t rank, std::uint32_t op) const;

 private:
  struct Side {
    bool meets = false, sends = false, collective = false;
    std::uint8_t group = 0, direction = 0;
    std::int64_t offset = 0;  // messages: from sender to receiver, in members
    std::uint32_t count = 0;
  };
  static std::vector<Side> sides_of(const Schedule& schedule, const Program& program);
  const Schedule& schedule_;
  std::vector<std::vector<Side>> sides_;  // [program][op id]
};

// Sets begin_ns of every communication op to the latest ready_ns of its meeting's sides, at most its own
// end_ns: clocks of different ranks differ a little. Other ops stay as they are. Every op id of the trace
// must be one of its rank's program.
void fill_begins(const Schedule& schedule, Trace& trace);

}  // namespace orrery::schedule
