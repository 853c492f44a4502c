// The suites over threads: one for each rank, in worlds made anew for every call.
#include <gtest/gtest.h>

#include <exception>
#include <thread>

#include "runtime/comm/thread_world.h"
#include "tests/runtime/comm/ranks.h"

namespace orrery::runtime::test {

std::vector<int> rank_counts() { return {1, 2, 3, 4, 8}; }

void on_ranks(int n, const std::function<void(World&)>& body) {
  std::vector<std::unique_ptr<World>> worlds = make_thread_worlds(n);
  std::vector<std::thread> threads;
  for (std::unique_ptr<World>& world : worlds)
    threads.emplace_back([&body, &world] {
      try {
        body(*world);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << world->rank() << ": " << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace orrery::runtime::test
