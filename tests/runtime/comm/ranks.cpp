#include "tests/runtime/comm/ranks.h"

#include <numeric>

namespace orrery::runtime::test {

std::vector<int> first_ranks(int n) {
  std::vector<int> ranks(static_cast<std::size_t>(n));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

void finish(World& world, Transfer& transfer) {
  for (;;) {
    const std::uint64_t heard = world.bell().heard();
    if (transfer.test()) return;
    world.bell().wait(heard);
  }
}

void perform(World& world, Communicator& communicator, std::vector<CommCall> calls,
             const std::vector<std::uint64_t>& sequences) {
  const auto transfer = communicator.prepare(std::move(calls));
  transfer->start(sequences);
  finish(world, *transfer);
}

void meet(World& world, Communicator& communicator, std::uint64_t sequence) {
  CommCall call;
  call.what = "barrier of the test";
  perform(world, communicator, {call}, {sequence});
}

}  // namespace orrery::runtime::test
