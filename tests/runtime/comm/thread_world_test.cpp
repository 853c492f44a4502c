// What only ranks in threads do: a thread that gives up wakes the others, bells let them sleep and lose nothing, and a
// step allocates nothing.
#include "runtime/comm/thread_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/runtime/comm/allocations.h"
#include "tests/runtime/comm/ranks.h"

namespace orrery::runtime::test {
namespace {

using ::testing::HasSubstr;

CommCall sum_of(std::vector<float>& y) {
  CommCall call;
  call.kind = CommKind::all_reduce;
  const auto count = static_cast<std::int64_t>(y.size());
  call.y = {{reinterpret_cast<std::byte*>(y.data()), 1, count, count}};
  call.what = "the sum";
  return call;
}

TEST(ThreadWorld, AStepAllocatesNothing) {
  std::atomic<std::int64_t> before{0}, after{0};
  on_ranks(2, [&](World& world) {
    const auto communicator = world.communicator({0, 1}, "all");
    std::vector<float> small(10, 1.0F), large(400'000, 1.0F);
    std::vector<std::unique_ptr<Transfer>> transfers;
    for (std::vector<float>* memory : {&small, &large}) {
      transfers.push_back(communicator->prepare({sum_of(*memory)}));
      CommCall call = sum_of(*memory);
      call.kind = world.rank() == 0 ? CommKind::send : CommKind::recv;
      call.peer = 1 - world.rank();
      if (world.rank() == 0) std::swap(call.x, call.y);
      transfers.push_back(communicator->prepare({call}));
    }
    for (std::uint64_t step = 0; step < 60; ++step) {
      if (step == 20 && world.rank() == 0) before = allocations();
      std::uint64_t collective = 2 * step, number = 2 * step;
      for (std::size_t t = 0; t < transfers.size(); ++t) {
        std::uint64_t& next = t % 2 == 0 ? collective : number;
        const std::uint64_t sequence = next++;
        transfers[t]->start({&sequence, 1});
        finish(world, *transfers[t]);
      }
      if (step == 50 && world.rank() == 0) after = allocations();
    }
  });
  EXPECT_EQ(after - before, 0);
}

TEST(ThreadWorld, WhoGivesUpIsNamedToTheOthers) {
  for (const bool comes_first : {true, false})
    on_ranks(3, [&](World& world) {
      const auto communicator = world.communicator({0, 1, 2}, "all"), other = world.communicator({0, 1, 2}, "other");
      std::vector<float> y(100'000, 1.0F);
      auto transfer = communicator->prepare({sum_of(y)});
      const auto start = [&] { transfer->start(std::vector<std::uint64_t>{0}); };
      if (world.rank() == 1) {
        if (!comes_first) meet(world, *other, 0);
        start();
        transfer.reset();
        if (comes_first) meet(world, *other, 0);
        return;
      }
      if (comes_first) meet(world, *other, 0);
      start();
      if (!comes_first) meet(world, *other, 0);
      try {
        finish(world, *transfer);
        FAIL() << "rank 1 never worked";
      } catch (const CommError& error) {
        EXPECT_THAT(error.what(), HasSubstr("the sum was given up on rank 1"));
      }
    });
}

// A rank that ends at any moment leaves its memory when nobody reads it any more (address sanitizer), and the others
// either finish or learn of it.
TEST(ThreadWorld, GivingUpInTheMiddle) {
  for (int looks = 0; looks < 12; ++looks)
    on_ranks(3, [&](World& world) {
      const auto communicator = world.communicator({0, 1, 2}, "all");
      auto y = std::make_unique<std::vector<float>>(700'000, 1.0F);
      auto transfer = communicator->prepare({sum_of(*y)});
      transfer->start(std::vector<std::uint64_t>{0});
      try {
        if (world.rank() == 2) {
          for (int look = 0; look < looks; ++look) transfer->test();
        } else {
          finish(world, *transfer);
          EXPECT_EQ(y->front(), 3.0F);
          EXPECT_EQ(y->back(), 3.0F);
        }
      } catch (const CommError& error) {
        EXPECT_THAT(error.what(), HasSubstr("given up"));
      }
      transfer.reset();
      y.reset();
    });
}

TEST(ThreadWorld, ABellLosesNothing) {
  const auto worlds = make_thread_worlds(1);
  Bell& bell = worlds.front()->bell();
  const std::uint64_t heard = bell.heard();
  bell.ring();
  bell.wait(heard);  // returns at once
  EXPECT_NE(bell.heard(), heard);

  constexpr int kTurns = 20'000;
  std::atomic<int> turn{0};
  std::atomic<int> seen{0};
  const auto player = [&](int parity) {
    while (turn.load() < kTurns) {
      const std::uint64_t now = bell.heard();
      if (turn.load() % 2 != parity) {
        bell.wait(now);
        continue;
      }
      seen.fetch_add(1);
      turn.fetch_add(1);
      bell.ring();
    }
    bell.ring();
  };
  std::thread other(player, 1);
  player(0);
  other.join();
  EXPECT_GE(seen.load(), kTurns);
}

TEST(ThreadWorld, CommunicatorsMadeInAnotherOrderAreFound) {
  std::atomic<int> errors{0};
  on_ranks(2, [&](World& world) {
    const char* const orders[2][2] = {{"a", "b"}, {"b", "a"}};
    for (const char* name : orders[world.rank()]) {
      try {
        const auto communicator = world.communicator({0, 1}, name);
      } catch (const CommError& error) {
        EXPECT_THAT(error.what(), HasSubstr("not made in the same order"));
        ++errors;
      }
    }
  });
  EXPECT_EQ(errors, 2) << "whoever comes second, for each of the two";
}

TEST(ThreadWorld, EndsMayOutliveEachOther) {
  auto worlds = make_thread_worlds(2);
  std::vector<float> y(4, 1.0F);
  auto communicator = worlds[1]->communicator({0, 1}, "all");
  const auto transfer = communicator->prepare({sum_of(y)});
  communicator.reset();
  worlds.clear();
  transfer->start(std::vector<std::uint64_t>{0});
  EXPECT_FALSE(transfer->test());
}

}  // namespace
}  // namespace orrery::runtime::test
