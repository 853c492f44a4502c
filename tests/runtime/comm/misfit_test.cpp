// Sides that do not fit together: every one of them learns so, and what both sides were; malformed calls are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/comm/call_check.h"
#include "tests/runtime/comm/memory.h"
#include "tests/runtime/comm/ranks.h"

namespace orrery::runtime::test {
namespace {

using ::testing::HasSubstr;

std::string error_of(World& world, Transfer& transfer) {
  try {
    finish(world, transfer);
  } catch (const CommError& error) {
    return error.what();
  }
  return "no error";
}

struct Memory {
  std::vector<float> x = std::vector<float>(256, 1.0F), y = std::vector<float>(256, 2.0F);
  Piece x_of(std::int64_t count) { return {reinterpret_cast<std::byte*>(x.data()), 1, count, count}; }
  Piece y_of(std::int64_t count) { return {reinterpret_cast<std::byte*>(y.data()), 1, count, count}; }
};

CommCall all_reduce(Memory& memory, int rank) {
  CommCall call;
  call.kind = CommKind::all_reduce;
  call.y = {memory.y_of(64)};
  call.signature = 7;
  call.what = "deed of " + std::to_string(rank);
  return call;
}

struct Change {
  std::string says;
  std::function<void(CommCall&, Memory&)> make;
};

const std::vector<Change>& changes() {
  static const std::vector<Change> kChanges{
      {"64 against 60 elements", [](CommCall& call, Memory& memory) { call.y = {memory.y_of(60)}; }},
      {"pieces have other sizes",
       [](CommCall& call, Memory& memory) {
         call.y = {memory.y_of(32), memory.y_of(32)};
       }},
      {"fp32 against int32", [](CommCall& call, Memory&) { call.element = Element::int32; }},
      {"sum against max", [](CommCall& call, Memory&) { call.reduce = CommReduce::max; }},
      {"signature 7 against 8", [](CommCall& call, Memory&) { call.signature = 8; }},
      {"all_reduce against broadcast", [](CommCall& call, Memory&) { call.kind = CommKind::broadcast; }},
      {"all_reduce against all_gather",
       [](CommCall& call, Memory& memory) {
         call.kind = CommKind::all_gather;
         call.x = {memory.x_of(32)};
         call.y = {memory.y_of(64)};
       }},
      {"all_reduce against barrier", [](CommCall& call, Memory&) { call.kind = CommKind::barrier, call.y.clear(); }},
  };
  return kChanges;
}

TEST(Misfit, OfTwoIsSeenByBoth) {
  for (const Change& change : changes())
    on_ranks(2, [&](World& world) {
      const auto communicator = world.communicator({0, 1}, "pair");
      Memory memory;
      CommCall call = all_reduce(memory, world.rank());
      if (world.rank() == 1) change.make(call, memory);
      const auto transfer = communicator->prepare({call});
      transfer->start(std::vector<std::uint64_t>{3});
      const std::string error = error_of(world, *transfer);
      EXPECT_THAT(error, HasSubstr(change.says));
      EXPECT_THAT(error, ::testing::AllOf(HasSubstr("deed of 0 on rank 0"), HasSubstr("deed of 1 on rank 1")));
      EXPECT_EQ(memory.y, std::vector<float>(256, 2.0F)) << "nothing was moved";
    });
}

TEST(Misfit, OfOneIsSeenByAll) {
  for (const int n : rank_counts()) {
    if (n < 3) continue;
    for (int odd = 0; odd < n; ++odd)
      on_ranks(n, [&](World& world) {
        const auto communicator = world.communicator(first_ranks(n), "all");
        Memory memory;
        CommCall call = all_reduce(memory, world.rank());
        if (world.rank() == odd) call.signature = 9;
        const auto transfer = communicator->prepare({call});
        transfer->start(std::vector<std::uint64_t>{0});
        EXPECT_THAT(error_of(world, *transfer), HasSubstr("deed of " + std::to_string(odd)));
      });
  }
}

TEST(Misfit, OfMessagesIsSeenByBoth) {
  for (const std::int64_t received : {60, 68})
    on_ranks(2, [&](World& world) {
      const auto communicator = world.communicator({0, 1}, "pair");
      Memory memory;
      CommCall call;
      const bool sends = world.rank() == 0;
      call.kind = sends ? CommKind::send : CommKind::recv;
      call.peer = 1 - world.rank();
      call.what = sends ? "the send" : "the recv";
      (sends ? call.x : call.y).push_back(sends ? memory.x_of(64) : memory.y_of(received));
      const auto transfer = communicator->prepare({call});
      transfer->start(std::vector<std::uint64_t>{0});
      const std::string error = error_of(world, *transfer);
      EXPECT_THAT(error, ::testing::AllOf(HasSubstr("the send on rank 0"), HasSubstr("the recv on rank 1"),
                                          HasSubstr("64"), HasSubstr(std::to_string(received))));
      EXPECT_EQ(memory.y, std::vector<float>(256, 2.0F)) << "nothing was moved";
    });
}

TEST(Misfit, LeavesOtherCommunicatorsAlone) {
  on_ranks(2, [&](World& world) {
    const auto bad = world.communicator({0, 1}, "bad"), good = world.communicator({0, 1}, "good");
    Memory memory;
    CommCall call = all_reduce(memory, world.rank());
    call.signature = static_cast<std::uint64_t>(world.rank());
    {
      const auto transfer = bad->prepare({call});
      transfer->start(std::vector<std::uint64_t>{0});
      EXPECT_THAT(error_of(world, *transfer), HasSubstr("signature"));
    }
    perform(world, *good, {all_reduce(memory, world.rank())}, {0});
    EXPECT_EQ(memory.y.front(), 4.0F);
  });
}

TEST(Misfit, LongDescriptionsAreCut) {
  Memory memory;
  CommCall call = all_reduce(memory, 0);
  call.what = std::string(1000, 'w');
  const CallDigest one = digest_of(call, 0, 0);
  call.signature = 8;
  EXPECT_THAT(misfit(one, digest_of(call, 1, 0)),
              HasSubstr(std::string(100, 'w') + std::string(28, 'w') + " on rank 0"));
}

TEST(Misfit, MalformedCallsAreRefused) {
  Memory memory;
  const auto refusal = [&](const std::function<void(CommCall&)>& change) -> std::string {
    CommCall call;
    call.kind = CommKind::reduce_scatter;
    call.x = {memory.x_of(8)};
    call.y = {memory.y_of(2)};
    call.what = "a deed";
    change(call);
    try {
      check_call(call, 4);
    } catch (const CommError& error) {
      return error.what();
    }
    return "fine";
  };
  EXPECT_EQ(refusal([](CommCall&) {}), "fine");
  EXPECT_EQ(refusal([&](CommCall& c) { c.y = {memory.y_of(3)}; }),
            "a deed, a reduce_scatter: x of 8 and y of 3 elements do not fit in a group of 4");
  EXPECT_THAT(refusal([&](CommCall& c) { c.y.push_back(memory.y_of(2)); }), HasSubstr("1 x and 2 y make no pairs"));
  EXPECT_THAT(refusal([&](CommCall& c) { c.x.clear(); }), HasSubstr("there is no x"));
  EXPECT_THAT(refusal([&](CommCall& c) { c.kind = CommKind::all_reduce; }), HasSubstr("there is an x"));
  EXPECT_THAT(refusal([&](CommCall& c) { c.kind = CommKind::all_to_all; }), HasSubstr("do not fit"));
  EXPECT_THAT(refusal([&](CommCall& c) { c.kind = CommKind::all_gather, c.adds = true; }), HasSubstr("can add"));
  EXPECT_THAT(refusal([&](CommCall& c) { c.y[0].data = nullptr; }), HasSubstr("no memory"));
  EXPECT_THAT(refusal([&](CommCall& c) { c.y[0].data += 1; }), HasSubstr("not aligned"));
  EXPECT_THAT(refusal([&](CommCall& c) { c.y[0] = {c.y[0].data, 2, 1, 0}; }), HasSubstr("stride of 0"));
  EXPECT_THAT(refusal([&](CommCall& c) { c.kind = CommKind::send, c.y.clear(), c.peer = 4; }), HasSubstr("peer 4"));
  EXPECT_THAT(refusal([&](CommCall& c) { c.kind = CommKind::send, c.y.clear(), c.channel = kChannels; }),
              HasSubstr("channel 256"));
}

TEST(Misfit, CommunicatorsOfWrongRanks) {
  on_ranks(2, [&](World& world) {
    EXPECT_THROW(world.communicator({0, 1, 99}, "a"), CommError);
    EXPECT_THROW(world.communicator({0, 0, 1}, "a"), CommError);
    EXPECT_THROW(world.communicator({1 - world.rank()}, "a"), CommError);
  });
}

}  // namespace
}  // namespace orrery::runtime::test
