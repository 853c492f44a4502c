// Messages between two ranks: they meet in order, channel by channel, a send ends with its receive, and grouped ones
// hold nobody up.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/comm/memory.h"
#include "tests/runtime/comm/ranks.h"

namespace orrery::runtime::test {
namespace {

CommCall message(CommKind kind, std::int64_t peer, Element element, std::vector<Piece> memory,
                 std::uint32_t channel = 0) {
  CommCall call;
  call.kind = kind;
  call.peer = peer;
  call.element = element;
  call.channel = channel;
  (kind == CommKind::send ? call.x : call.y) = std::move(memory);
  call.what = std::string(name_of(kind)) + " of the test";
  return call;
}

TEST(Messages, ArriveWhole) {
  on_ranks(2, [](World& world) {
    const auto communicator = world.communicator({0, 1}, "pair");
    std::uint64_t sequence = 0;
    for (const Element element : {Element::fp32, Element::fp64, Element::bf16, Element::byte})
      for (const std::vector<std::int64_t>& counts :
           {std::vector<std::int64_t>{0}, {1}, {7}, {1001}, {250'001}, {6, 0, 30'000, 5}})
        for (const Layout layout : {Layout::flat, Layout::rows, Layout::narrow}) {
          Pieces sent;
          for (const std::int64_t count : counts) sent.push_back(drawn(element, count, sequence + sent.size()));
          Pieces other = sent;
          for (Flat& flat : other) std::fill(flat.begin(), flat.end(), std::byte{1});
          const bool sends = world.rank() == 0;
          // The receiver lays its memory out in its own way.
          std::vector<Rectangle> mine = rectangles(sends ? sent : other, element, sends ? layout : Layout::rows);
          perform(world, *communicator,
                  {message(sends ? CommKind::send : CommKind::recv, 1 - world.rank(), element, pieces(mine))},
                  {sequence});
          EXPECT_EQ(values(mine), sent) << name_of(element) << " x " << counts.front();
          EXPECT_TRUE(margins_untouched(mine));
          ++sequence;
        }
  });
}

// A ring in which everybody sends before it receives would wait for ever, were the two not one group.
TEST(Messages, GroupedRing) {
  for (const int n : rank_counts())
    on_ranks(n, [&](World& world) {
      const auto communicator = world.communicator(first_ranks(n), "ring");
      for (const std::int64_t count : {3, 100'000}) {
        std::vector<Rectangle> own = rectangles({drawn(Element::fp32, count, static_cast<std::uint64_t>(world.rank()))},
                                                Element::fp32, Layout::flat);
        std::vector<Rectangle> got =
            rectangles({Flat(static_cast<std::size_t>(count * 4))}, Element::fp32, Layout::rows);
        const int next = (world.rank() + 1) % n, previous = (world.rank() + n - 1) % n;
        const auto both = communicator->prepare({message(CommKind::send, next, Element::fp32, pieces(own)),
                                                 message(CommKind::recv, previous, Element::fp32, pieces(got))});
        for (std::uint64_t step = 0; step < static_cast<std::uint64_t>(n); ++step) {
          const std::uint64_t sequence = step + (count == 3 ? 0 : 100);
          both->start(std::vector<std::uint64_t>{sequence, sequence});
          finish(world, *both);
          own.front().fill(got.front().values());
        }
        // Once around.
        EXPECT_EQ(own.front().values(), drawn(Element::fp32, count, static_cast<std::uint64_t>(world.rank()))) << n;
      }
    });
}

TEST(Messages, EndTogether) {
  on_ranks(2, [](World& world) {
    const auto communicator = world.communicator({0, 1}, "pair");
    for (const std::int64_t count : {1, 100'000}) {
      const std::uint64_t sequence = count == 1 ? 0 : 1;
      std::vector<Rectangle> mine = rectangles({drawn(Element::fp32, count, 5)}, Element::fp32, Layout::flat);
      if (world.rank() == 0) {
        const auto send = communicator->prepare({message(CommKind::send, 1, Element::fp32, pieces(mine))});
        send->start({&sequence, 1});
        for (int look = 0; look < 100; ++look) EXPECT_FALSE(send->test()) << "a send without its receive";
        meet(world, *communicator, sequence);
        finish(world, *send);
      } else {
        meet(world, *communicator, sequence);
        perform(world, *communicator, {message(CommKind::recv, 0, Element::fp32, pieces(mine))}, {sequence});
      }
    }
  });
}

// The receiver begins its receives in another order than the sender its sends; the numbers say who meets whom.
TEST(Messages, MeetByNumberAndChannel) {
  on_ranks(2, [](World& world) {
    const auto communicator = world.communicator({0, 1}, "pair");
    constexpr std::uint64_t kMessages = 12;
    const bool sends = world.rank() == 0;
    std::vector<std::vector<Rectangle>> memory;
    std::vector<std::unique_ptr<Transfer>> transfers;
    const auto content = [](std::uint32_t channel, std::uint64_t k) {
      return drawn(Element::fp32, 4000, channel * 100 + k);
    };
    for (std::uint32_t channel : {0U, 3U, kChannels - 1})
      for (std::uint64_t k = 0; k < kMessages; ++k) {
        memory.push_back(rectangles({sends ? content(channel, k) : Flat(16'000)}, Element::fp32, Layout::flat));
        transfers.push_back(communicator->prepare({message(sends ? CommKind::send : CommKind::recv, 1 - world.rank(),
                                                           Element::fp32, pieces(memory.back()), channel)}));
      }
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      const std::size_t t = sends ? i : (i * 7 + 5) % transfers.size();
      const std::uint64_t sequence = t % kMessages;
      transfers[t]->start({&sequence, 1});
    }
    for (const auto& transfer : transfers) finish(world, *transfer);
    std::size_t t = 0;
    for (std::uint32_t channel : {0U, 3U, kChannels - 1})
      for (std::uint64_t k = 0; k < kMessages; ++k)
        EXPECT_EQ(memory[t++].front().values(), content(channel, k)) << channel << " " << k;
  });
}

}  // namespace
}  // namespace orrery::runtime::test
