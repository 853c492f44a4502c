// The executor on schedules of a few ops: what its queues, events, rendezvous and memory promise.
#include "tests/interpreter/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/interpreter/hand_schedule.h"

namespace orrery::interpreter {
namespace {

using schedule::Access;
using schedule::OpKind;
using schedule::Role;
using schedule::Stream;
using testing::HasSubstr;

constexpr std::array kOrders = {Order::round_robin, Order::rank_first, Order::rank_last, Order::random};

schedule::View read(Role role, std::uint16_t f, std::int64_t n, std::int64_t at = 0) {
  return HandSchedule::view(role, Access::read, f, n, at);
}
schedule::View write(Role role, std::uint16_t f, std::int64_t n, std::int64_t at = 0) {
  return HandSchedule::view(role, Access::write, f, n, at);
}
schedule::View update(Role role, std::uint16_t f, std::int64_t n, std::int64_t at = 0) {
  return HandSchedule::view(role, Access::update, f, n, at);
}

std::string failure(const schedule::Schedule& s, Order order = Order::round_robin) {
  try {
    Executor executor(s, {.order = order, .seed = 1, .steps = 1});
    executor.run();
  } catch (const ScheduleError& error) {
    return error.what();
  }
  return "no failure";
}

double value(Executor& executor, std::int64_t rank, std::uint16_t formal, std::size_t at) {
  return executor.memory(rank).current(BufferId(std::uint32_t{formal}), 0).touch()[at];
}

// Gives every rank known contents before the run.
void set(Executor& executor, std::uint16_t formal, const std::vector<std::vector<double>>& of_rank) {
  for (std::size_t r = 0; r < of_rank.size(); ++r) {
    double* const at =
        executor.memory(static_cast<std::int64_t>(r)).current(BufferId(std::uint32_t{formal}), 0).touch();
    std::copy(of_rank[r].begin(), of_rank[r].end(), at);
  }
}

TEST(Executor, AllReduceSumsOverTheGroup) {
  HandSchedule h(3, 1);
  const auto x = h.buffer("x", 2);
  h.op(OpKind::all_reduce, Stream::compute, {update(Role::y, x, 2)});
  for (const Order order : kOrders) {
    Executor executor(h.finish(), {.order = order, .seed = 1, .steps = 1});
    set(executor, x, {{1, 2}, {10, 20}, {100, 200}});
    executor.run();
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(value(executor, rank, x, 0), 111.0);
      EXPECT_EQ(value(executor, rank, x, 1), 222.0);
    }
  }
}

TEST(Executor, CollectivesMoveFlatChunks) {
  HandSchedule h(2, 1);
  const auto a = h.buffer("a", 4), shard = h.buffer("shard", 2), full = h.buffer("full", 4), swap = h.buffer("swap", 4);
  h.op(OpKind::reduce_scatter, Stream::compute, {read(Role::x, a, 4), write(Role::y, shard, 2)});
  h.op(OpKind::all_gather, Stream::compute, {read(Role::x, shard, 2), write(Role::y, full, 4)});
  h.op(OpKind::all_to_all, Stream::compute, {read(Role::x, a, 4), write(Role::y, swap, 4)});
  h.op(OpKind::broadcast, Stream::compute, {update(Role::y, a, 4)});
  for (const Order order : kOrders) {
    Executor executor(h.finish(), {.order = order, .seed = 1, .steps = 1});
    set(executor, a, {{1, 2, 3, 4}, {10, 20, 30, 40}});
    executor.run();
    EXPECT_EQ(value(executor, 0, shard, 1), 22.0);
    EXPECT_EQ(value(executor, 1, shard, 0), 33.0);
    EXPECT_EQ(value(executor, 0, full, 3), 44.0);
    EXPECT_EQ(value(executor, 0, swap, 2), 10.0);
    EXPECT_EQ(value(executor, 1, swap, 1), 4.0);
    EXPECT_EQ(value(executor, 1, a, 2), 3.0);
  }
}

TEST(Executor, ShardedViewsFollowTheRankInTheGroup) {
  HandSchedule h(2, 1);
  const auto full = h.buffer("full", 4);
  schedule::View own = read(Role::x, full, 2);
  own.shard_stride = 2;
  h.op(OpKind::all_gather, Stream::compute, {own, write(Role::y, full, 4)});
  Executor executor(h.finish(), {});
  set(executor, full, {{1, 2, -1, -1}, {-1, -1, 3, 4}});
  executor.run();
  for (std::int64_t rank = 0; rank < 2; ++rank)
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(value(executor, rank, full, i), static_cast<double>(i + 1));
}

// Both send, then receive: a deadlock with rendezvous, fine as one grouped run.
HandSchedule exchange(bool grouped) {
  HandSchedule h(2, 1);
  const auto a = h.buffer("a", 1), b = h.buffer("b", 1);
  schedule::Op& send = h.op(OpKind::send, Stream::compute, {read(Role::x, a, 1)});
  send.peer = 1;
  send.grouped = grouped;
  h.op(OpKind::recv, Stream::compute, {write(Role::y, b, 1)}).peer = 1;
  return h;
}

TEST(Executor, UngroupedExchangeDeadlocks) {
  HandSchedule h = exchange(false);
  EXPECT_THAT(failure(h.finish()), HasSubstr("deadlock"));
  EXPECT_THAT(failure(h.finish()), HasSubstr("waits for 1 more members"));
}

TEST(Executor, GroupedExchangeRuns) {
  HandSchedule h = exchange(true);
  for (const Order order : kOrders) {
    Executor executor(h.finish(), {.order = order, .seed = 1, .steps = 1});
    set(executor, 0, {{5}, {6}});
    executor.run();
    EXPECT_EQ(value(executor, 0, 1, 0), 6.0);
    EXPECT_EQ(value(executor, 1, 1, 0), 5.0);
  }
}

TEST(Executor, TagsKeepMessagesApart) {
  HandSchedule h(2, 2);
  const auto a = h.buffer("a", 2), b = h.buffer("b", 2);
  h.op(OpKind::send, Stream::pipe_send_forward, {read(Role::x, a, 1, 0)}, {}, 0).peer = 1;
  schedule::Op& second = h.op(OpKind::send, Stream::pipe_send_backward, {read(Role::x, a, 1, 1)}, {}, 0);
  second.peer = 1;
  second.site = 9;
  schedule::Op& tagged = h.op(OpKind::recv, Stream::compute, {write(Role::y, b, 1, 0)}, {}, 1);
  tagged.peer = -1;
  tagged.site = 9;
  h.op(OpKind::recv, Stream::compute, {write(Role::y, b, 1, 1)}, {}, 1).peer = -1;
  Executor executor(h.finish(), {});
  set(executor, a, {{5, 6}});
  executor.run();
  EXPECT_EQ(value(executor, 1, b, 0), 6.0);
  EXPECT_EQ(value(executor, 1, b, 1), 5.0);
}

// y = x on the copy stream, read on the compute stream; without the event some order reads before the copy.
HandSchedule copy_then_add(bool with_event) {
  HandSchedule h(1, 1);
  const auto x = h.buffer("x", 1), y = h.buffer("y", 1), sum = h.buffer("sum", 1);
  h.op(OpKind::copy_to_device, Stream::to_device, {read(Role::x, x, 1), write(Role::y, y, 1)}).record = y;
  h.op(OpKind::cast, Stream::compute, {read(Role::x, y, 1), write(Role::y, sum, 1)},
       with_event ? std::vector<std::uint16_t>{y} : std::vector<std::uint16_t>{});
  return h;
}

TEST(Executor, EventsOrderStreams) {
  HandSchedule h = copy_then_add(true);
  for (const Order order : kOrders) {
    Executor executor(h.finish(), {.order = order, .seed = 1, .steps = 1});
    set(executor, 0, {{4}});
    executor.run();
    EXPECT_EQ(value(executor, 0, 2, 0), 4.0);
  }
}

TEST(Executor, AMissingEventShowsUnderSomeOrder) {
  HandSchedule h = copy_then_add(false);
  Executor executor(h.finish(), {.order = Order::rank_first, .seed = 1, .steps = 1});
  set(executor, 0, {{4}});
  EXPECT_THROW(executor.run(), ScheduleError);
}

TEST(Executor, AWaitMeansTheLastRecordIssuedBefore) {
  HandSchedule h(1, 1);
  const auto x = h.buffer("x", 1), y = h.buffer("y", 1);
  h.op(OpKind::cast, Stream::compute, {read(Role::x, x, 1), write(Role::y, y, 1)}, {x});  // nothing recorded yet
  h.op(OpKind::fill, Stream::to_device, {write(Role::y, x, 1)}, {y}).record = x;
  Executor executor(h.finish(), {.order = Order::rank_first, .seed = 1, .steps = 1});
  set(executor, x, {{4}});
  executor.run();
  EXPECT_EQ(value(executor, 0, y, 0), 4.0);
}

TEST(Executor, HostWaitHoldsBackWhatIsIssuedLater) {
  HandSchedule h(1, 1);
  const auto x = h.buffer("x", 1), y = h.buffer("y", 1), z = h.buffer("z", 1);
  h.op(OpKind::copy_to_device, Stream::to_device, {read(Role::x, x, 1), write(Role::y, y, 1)}).record = y;
  h.op(OpKind::host_wait, Stream::host, {}, {y});
  h.op(OpKind::cast, Stream::compute, {read(Role::x, y, 1), write(Role::y, z, 1)});
  for (const Order order : kOrders) {
    Executor executor(h.finish(), {.order = order, .seed = 1, .steps = 1});
    set(executor, x, {{4}});
    executor.run();
    EXPECT_EQ(value(executor, 0, z, 0), 4.0);
  }
}

TEST(Executor, ReadingWhatWasNeverWrittenIsAnError) {
  HandSchedule h(1, 1);
  const auto x = h.buffer("x", 2), y = h.buffer("y", 2);
  h.op(OpKind::fill, Stream::compute, {write(Role::y, x, 1)});
  h.op(OpKind::cast, Stream::compute, {read(Role::x, x, 2), write(Role::y, y, 2)});
  EXPECT_THAT(failure(h.finish()), HasSubstr("x[0] is read as x at element 1"));
}

TEST(Executor, MemoryIsCheckedInIssueOrder) {
  HandSchedule unallocated(1, 1);
  const auto x = unallocated.buffer("x", 1, false);
  unallocated.op(OpKind::fill, Stream::compute, {write(Role::y, x, 1)});
  EXPECT_THAT(failure(unallocated.finish()), HasSubstr("while it is not allocated"));

  HandSchedule twice(1, 1);
  schedule::View born = write(Role::y, twice.buffer("x", 1, false), 1);
  born.allocates = true;
  twice.op(OpKind::fill, Stream::compute, {born});
  twice.op(OpKind::fill, Stream::compute, {born});
  EXPECT_THAT(failure(twice.finish()), HasSubstr("allocated twice"));

  HandSchedule outside(1, 1);
  outside.op(OpKind::fill, Stream::compute, {write(Role::y, outside.buffer("x", 2), 2, 1)});
  EXPECT_THAT(failure(outside.finish()), HasSubstr("leaves its 2 elements"));
}

TEST(Executor, UseAfterTheFreeingOpHasRunIsAnError) {
  HandSchedule h(1, 1);
  const auto x = h.buffer("x", 1, false), y = h.buffer("y", 1);
  schedule::View born = write(Role::y, x, 1), dies = read(Role::x, x, 1);
  born.allocates = true;
  dies.frees = true;
  h.op(OpKind::fill, Stream::compute, {born});
  h.op(OpKind::cast, Stream::to_host, {read(Role::x, x, 1), write(Role::y, y, 1)});
  h.op(OpKind::cast, Stream::compute, {dies, write(Role::y, y, 1)});
  EXPECT_THAT(failure(h.finish(), Order::rank_first), HasSubstr("used after the op that freed it has run"));
}

TEST(Executor, UseAgainBeforeTheFreeingOpHasRunIsAnError) {
  HandSchedule h(1, 1);
  const auto x = h.buffer("x", 1, false), y = h.buffer("y", 1);
  schedule::View born = write(Role::y, x, 1), dies = read(Role::x, x, 1);
  born.allocates = true;
  dies.frees = true;
  h.op(OpKind::fill, Stream::compute, {born}).record = x;
  h.op(OpKind::cast, Stream::to_host, {dies, write(Role::y, y, 1)}, {x});
  h.op(OpKind::fill, Stream::compute, {born});
  EXPECT_THAT(failure(h.finish(), Order::rank_first), HasSubstr("used again before the op that freed it has run"));
}

TEST(Executor, AccessIsEnforced) {
  HandSchedule h(1, 1);
  const auto x = h.buffer("x", 1), y = h.buffer("y", 1);
  h.op(OpKind::fill, Stream::compute, {write(Role::y, x, 1)});
  h.op(OpKind::fill, Stream::compute, {write(Role::y, y, 1)});
  h.op(OpKind::add, Stream::compute, {read(Role::x, x, 1), write(Role::y, y, 1)});
  EXPECT_THAT(failure(h.finish()), HasSubstr("transformed in place, and not declared so"));
}

TEST(Executor, MembersMustPerformTheSameCollective) {
  HandSchedule h(2, 2);
  const auto x = h.buffer("x", 2);
  for (const std::size_t rank : {0U, 1U}) h.op(OpKind::fill, Stream::compute, {write(Role::y, x, 2)}, {}, rank);
  h.op(OpKind::all_reduce, Stream::compute, {update(Role::y, x, 2)}, {}, 0);
  h.op(OpKind::broadcast, Stream::compute, {update(Role::y, x, 2)}, {}, 1);
  EXPECT_THAT(failure(h.finish()), HasSubstr("members do not perform the same collective"));
}

}  // namespace
}  // namespace orrery::interpreter
