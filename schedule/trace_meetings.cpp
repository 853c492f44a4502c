#include "schedule/trace_meetings.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/check.h"
#include "base/random.h"
#include "schedule/trace_ops.h"

namespace orrery::schedule {
namespace {

std::int64_t modulo(std::int64_t a, std::int64_t n) { return (a % n + n) % n; }

struct StepMeeting {
  std::int32_t step = 0;
  MeetingKey key;
  bool operator==(const StepMeeting&) const = default;
};

struct StepMeetingHash {
  std::size_t operator()(const StepMeeting& m) const {
    std::uint64_t hash = mix_bits(static_cast<std::uint64_t>(m.step) << 32 | m.key.count);
    hash = mix_bits(hash ^ static_cast<std::uint64_t>(m.key.first));
    hash = mix_bits(hash ^ static_cast<std::uint64_t>(m.key.receiver));
    return mix_bits(hash ^ static_cast<std::uint64_t>(m.key.group) << 8 ^ m.key.direction);
  }
};

}  // namespace

MeetingTable::MeetingTable(const Schedule& schedule) : schedule_(schedule) {
  for (const Program& program : schedule.programs) sides_.push_back(sides_of(schedule, program));
}

std::vector<MeetingTable::Side> MeetingTable::sides_of(const Schedule& schedule, const Program& program) {
  // Group, direction, offset, 0: sends, 1: receives, 2: collectives.
  std::map<std::tuple<std::uint8_t, std::uint8_t, std::int64_t, int>, std::uint32_t> counts;
  std::vector<Side> sides;
  for (const TracedOp& traced : traced_ops(program)) {
    const Op& op = program.ops[traced.op];
    Side side;
    side.meets = is_communication(op.kind);
    if (side.meets) {
      CHECK(op.group < schedule.groups.size(), op.group, schedule.groups.size());
      side.group = op.group;
      side.collective = is_collective(op.kind);
      side.sends = op.kind == OpKind::send;
      if (!side.collective) {
        side.direction = message_direction(op.stream);
        side.offset = modulo(side.sends ? op.peer : -op.peer, schedule.groups[op.group].size);
      }
      const int kind = side.collective ? 2 : side.sends ? 0 : 1;
      side.count = counts[{side.group, side.direction, side.offset, kind}]++;
    }
    sides.push_back(side);
  }
  return sides;
}

std::optional<MeetingKey> MeetingTable::find(std::int64_t rank, std::uint32_t op) const {
  const auto program = static_cast<std::size_t>(schedule_.program_group.index(rank));
  CHECK(op < sides_[program].size(), rank, op);
  const Side& side = sides_[program][op];
  if (!side.meets) return std::nullopt;
  const Group& group = schedule_.groups[side.group];
  MeetingKey key{.count = side.count, .group = side.group, .direction = side.direction};
  if (side.collective) {
    key.first = group.first(rank);
    return key;
  }
  const std::int64_t to_peer = side.sends ? side.offset : -side.offset;
  const std::int64_t peer = group.member(rank, modulo(group.index(rank) + to_peer, group.size));
  key.first = side.sends ? rank : peer;
  key.receiver = side.sends ? peer : rank;
  return key;
}

void fill_begins(const Schedule& schedule, Trace& trace) {
  const MeetingTable table(schedule);
  std::unordered_map<StepMeeting, std::int64_t, StepMeetingHash> all_ready;
  for (const RankTrace& rank : trace.ranks)
    for (const TraceRecord& r : rank.records)
      if (const auto key = table.find(rank.rank, r.op)) {
        const auto [at, is_new] = all_ready.try_emplace({r.step, *key}, r.ready_ns);
        if (!is_new) at->second = std::max(at->second, r.ready_ns);
      }
  for (RankTrace& rank : trace.ranks)
    for (TraceRecord& r : rank.records)
      if (const auto key = table.find(rank.rank, r.op))
        r.begin_ns = std::min(all_ready.at({r.step, *key}), r.end_ns);
}

}  // namespace orrery::schedule
