// What only ranks in processes do.
#include "runtime/comm/mpi_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/comm/mpi_bell.h"
#include "tests/runtime/comm/ranks.h"

namespace orrery::runtime::test {
namespace {

TEST(MpiWorld, CommunicatorsMadeInAnotherOrderAreFoundByAll) {
  on_ranks(2, [](World& world) {
    const char* const orders[2][2] = {{"a", "b"}, {"b", "a"}};
    for (const char* name : orders[world.rank()]) EXPECT_THROW(world.communicator({0, 1}, name), CommError);
  });
}

TEST(MpiWorld, ARungBellDoesNotWait) {
  MpiBell bell;
  const std::uint64_t heard = bell.heard();
  bell.ring();
  EXPECT_NE(bell.heard(), heard);
  bell.wait(heard);
}

// Nobody rings; every wait ends nevertheless, so that the lane looks again.
TEST(MpiWorld, EveryWaitEnds) {
  MpiBell bell;
  int waits = 0;
  for (; waits < 700; ++waits) bell.wait(bell.heard());
  EXPECT_EQ(waits, 700);
  std::thread other([&] { bell.ring(); });
  while (bell.heard() == 0) bell.wait(0);
  other.join();
  EXPECT_EQ(bell.heard(), 1U);
}

}  // namespace
}  // namespace orrery::runtime::test
