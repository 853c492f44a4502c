// When all sides of a message were ready, by the rules of docs/schedule.md, section 8.
#include "schedule/trace_meetings.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "schedule/compile.h"
#include "tests/schedule/small_scenarios.h"
#include "tests/schedule/small_trace.h"

namespace orrery::schedule {
namespace {

using testing::made_up_trace;
using testing::parsed_schedule;

TraceRecord& record_of(Trace& trace, std::size_t rank, std::size_t op) {
  return trace.ranks[rank].records[op];
}

// Rank 0: fill, send, all_reduce; rank 1: recv, all_reduce. Sides become ready at different times.
constexpr const char* kPair = R"(world 2
program first {
  buffer a bf16[4] persistent
  fill y=a
  send x:a to +1
  all_reduce y+=a in world
}
program second {
  buffer a bf16[4] persistent
  recv y=a from -1
  all_reduce y+=a in world
}
)";

TEST(TraceMeetings, BeginIsWhenTheLastSideIsReady) {
  Trace trace = made_up_trace(parsed_schedule(kPair), 0, 1, 1);
  trace.ranks[0].records = {{0, 0, 0, 1, 40}, {0, 1, 40, 40, 70}, {0, 2, 70, 70, 200}};
  trace.ranks[1].records = {{0, 0, 5, 5, 71}, {0, 1, 150, 150, 201}};
  fill_begins(parsed_schedule(kPair), trace);
  EXPECT_EQ(record_of(trace, 0, 0).begin_ns, 1) << "a kernel keeps its own";
  EXPECT_EQ(record_of(trace, 0, 1).begin_ns, 40);
  EXPECT_EQ(record_of(trace, 1, 0).begin_ns, 40);
  EXPECT_EQ(record_of(trace, 0, 2).begin_ns, 150);
  EXPECT_EQ(record_of(trace, 1, 1).begin_ns, 150);
}

TEST(TraceMeetings, BeginIsNeverBehindTheEnd) {
  Trace trace = made_up_trace(parsed_schedule(kPair), 0, 1, 1);
  trace.ranks[0].records = {
      {0, 0, 0, 0, 40}, {0, 1, 40, 40, 70}, {0, 2, 70, 70, 140}};  // a clock that is behind
  trace.ranks[1].records = {{0, 0, 5, 5, 71}, {0, 1, 150, 150, 201}};
  fill_begins(parsed_schedule(kPair), trace);
  EXPECT_EQ(record_of(trace, 0, 2).begin_ns, 140);
  EXPECT_EQ(record_of(trace, 1, 1).begin_ns, 150);
}

TEST(TraceMeetings, StepsAreApartAndALostRecordShiftsNothing) {
  Trace trace = made_up_trace(parsed_schedule(kPair), 0, 2, 1);
  trace.complete = false;
  trace.ranks[0].records = {{0, 1, 10, 10, 90}, {0, 2, 20, 20, 90}, {1, 2, 1070, 1070, 1200}};
  trace.ranks[1].records = {{0, 0, 30, 30, 90}, {1, 0, 1005, 1005, 1071}, {1, 1, 1150, 1150, 1201}};
  fill_begins(parsed_schedule(kPair), trace);
  EXPECT_EQ(record_of(trace, 0, 0).begin_ns, 30);
  EXPECT_EQ(record_of(trace, 0, 1).begin_ns, 20) << "its other side was lost";
  EXPECT_EQ(record_of(trace, 0, 2).begin_ns, 1150);
  EXPECT_EQ(record_of(trace, 1, 1).begin_ns, 1005);
}

// With two stages of two chunks, previous and next rank are the same; forward and backward are counted apart.
TEST(TraceMeetings, DirectionsAreCountedApart) {
  const Schedule schedule = parsed_schedule(R"(world 2
program left {
  buffer a bf16[4] persistent
  send x:a to +1 on pipe_send_forward
  send x:a to +1 on pipe_send_backward site 1
}
program right {
  buffer a bf16[4] persistent
  recv y=a from -1 on pipe_recv_backward site 1
  recv y=a from -1 on pipe_recv_forward
}
)");
  const MeetingTable table(schedule);
  EXPECT_EQ(table.find(0, 0), table.find(1, 1));
  EXPECT_EQ(table.find(0, 1), table.find(1, 0));
  EXPECT_NE(table.find(0, 0), table.find(0, 1));
}

// In compiled plans every meeting has all of its sides, of one kind and size, and no side is in two.
void expect_whole_meetings(const Plan& plan) {
  const Schedule schedule = compile(small_scenario(gpt_style(4), plan));
  const MeetingTable table(schedule);
  struct Sides {
    std::vector<std::int64_t> ranks;
    std::int64_t sends = 0, receives = 0, members = 0;
  };
  std::map<MeetingKey, Sides> meetings;
  for (std::int64_t rank = 0; rank < schedule.world; ++rank) {
    const Program& program = schedule.program_of(rank);
    const std::vector<TracedOp> ops = traced_ops(program);
    for (std::uint32_t id = 0; id < ops.size(); ++id) {
      const Op& op = program.ops[ops[id].op];
      const auto key = table.find(rank, id);
      ASSERT_EQ(key.has_value(), is_communication(op.kind));
      if (!key) continue;
      Sides& sides = meetings[*key];
      sides.ranks.push_back(rank);
      sides.sends += op.kind == OpKind::send ? 1 : 0;
      sides.receives += op.kind == OpKind::recv ? 1 : 0;
      sides.members += is_collective(op.kind) ? 1 : 0;
    }
  }
  ASSERT_FALSE(meetings.empty());
  for (const auto& [key, sides] : meetings) {
    const bool is_message = key.receiver >= 0;
    EXPECT_EQ(sides.sends, is_message ? 1 : 0);
    EXPECT_EQ(sides.receives, is_message ? 1 : 0);
    EXPECT_EQ(sides.members, is_message ? 0 : schedule.groups[key.group].size);
    if (is_message) {
      EXPECT_EQ(key.first + key.receiver, sides.ranks[0] + sides.ranks[1]);
    }
  }
}

TEST(TraceMeetings, CompiledPlansHaveWholeMeetings) {
  expect_whole_meetings({.tp = 2, .pp = 2, .dp = 2, .zero = 1, .microbatches = 4});
  expect_whole_meetings({.pp = 2, .vpp = 2, .microbatches = 4});
  expect_whole_meetings({.dp = 4, .zero = 3});
}

}  // namespace
}  // namespace orrery::schedule
